"""2WikiMultihopQA: dev.json and train.json (JSON lists), also inside their .zip, with id_aliases.json beside them.

Fields: _id, type, question, context [[title, [sentences]]], supporting_facts [[title, sentence]], evidences [[subject,
relation, object]], answer, and in the version with ids evidences_id, answer_id. id_aliases.json has one JSON line an
entity: Q_id, aliases, demonyms; version 1.1 of the official script counts them as right answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from sleuth.bench.tasks.files import Source
from sleuth.bench.tasks.hotpotqa import contextual
from sleuth.bench.tasks.kinds import Card, Entry, Loader, Maker, Row, has, maybe, texts
from sleuth.errors import BadInput

CARD = Card(
    name="2wikimultihopqa",
    title="2WikiMultihopQA",
    addresses=("https://www.dropbox.com/s/ms2m13252h6xubs/data_ids_april7.zip?dl=1",),
    files=("dev.json", "train.json", "test.json"),
    licence="Apache-2.0",
    source="Ho et al. 2020, Constructing a Multi-hop QA Dataset, section 2 (data) and 4 (metrics); 2wikimultihop_evaluate_v1.1.py",
    metrics=("2wiki_em", "2wiki_f1", "sf_em", "sf_f1", "recall_hops", "all_found"),
    aliases=("2wiki",),
)


def is_row(row: Row) -> bool:
    """HotpotQA's form with triples."""
    return has(row, "_id", "question", "context", "evidences")


def _opened(source: Source) -> Maker:
    aliases = _aliases(source)

    def entry(row: Row) -> Entry:
        return contextual(row, "2w", *aliases.get(maybe(row, "answer_id"), ()))

    return entry


def _aliases(source: Source) -> Mapping[str, tuple[str, ...]]:
    file = source.beside("id_aliases.json")
    if file is None:
        return {}
    found = {}
    for where, row in file.rows():
        try:
            found[str(row["Q_id"])] = (*texts(row, "aliases"), *texts(row, "demonyms"))
        except (KeyError, ValueError) as fault:
            raise BadInput(f"{where} is no alias: {fault}.") from fault
    return found


LOADER = Loader(CARD, is_row, _opened)
