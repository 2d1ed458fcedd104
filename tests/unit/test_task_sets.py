"""Official files of each data set: small ones made by hand, with the published field names and invented content."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sleuth.bench import metrics, tasks
from sleuth.bench.questions import Question, Task
from sleuth.errors import BadInput, UnknownName

HOTPOT = {
    "_id": "5a1",
    "question": "In which land does the river past Oma Mill end?",
    "answer": '"Velland',
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Oma Mill", 0], ["Lirr", 1]],
    "context": [
        ["Oma Mill", ["Oma Mill stands on the Lirr.", " It grinds rye."]],
        ["Lirr", ["The Lirr is a river.", " It ends in Velland."]],
        ["Empty page", []],
        ["Other", ["Nothing of this."]],
    ],
}
TWOWIKI = HOTPOT | {
    "_id": "2w1",
    "type": "compositional",
    "answer": "Velland",
    "answer_id": "Q7",
    "evidences": [["Oma Mill", "river", "Lirr"]],
    "evidences_id": [["Q1", "river", "Q2"]],
}
MUSIQUE = {
    "id": "2hop__11_22",
    "question": "Who built the mill on the Lirr?",
    "answer": "Ada Orn",
    "answer_aliases": ["A. Orn", "Ada Orn"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Lirr", "paragraph_text": "Oma Mill stands on it.", "is_supporting": True},
        {"idx": 1, "title": "Lirr", "paragraph_text": "It is 40 km long.", "is_supporting": False},
        {"idx": 2, "title": "Oma Mill", "paragraph_text": "Ada Orn built it.", "is_supporting": True},
    ],
    "question_decomposition": [
        {"id": 11, "question": "Lirr >> mill", "answer": "Oma Mill", "paragraph_support_idx": 0},
        {"id": 22, "question": "Who built #1 ?", "answer": "Ada Orn", "paragraph_support_idx": 2},
    ],
}
STRATEGY = {
    "qid": "s1",
    "term": "Oma Mill",
    "description": "a mill",
    "question": "Could Oma Mill grind rice?",
    "answer": False,
    "facts": ["It grinds rye."],
    "decomposition": ["What does Oma Mill grind?", "Is #1 rice?"],
    "evidence": [[[["Oma Mill-1"]], ["operation"]], [["no_evidence", ["Rice-2", "Oma Mill-1"]], ["operation"]]],
}
PARAGRAPHS = {
    "Oma Mill-1": {"title": "Oma Mill", "section": "", "headers": [], "para_index": 1, "content": "It grinds rye."},
    "Rice-2": {"title": "Rice", "section": "", "headers": [], "para_index": 2, "content": "Rice is a grain."},
}
FEVER = [
    {
        "id": 7,
        "verifiable": "VERIFIABLE",
        "label": "SUPPORTS",
        "claim": "Oma (film) was shot at a mill.",
        "evidence": [[[1, 2, "Oma_-LRB-film-RRB-", 0]], [[3, 4, "Oma_Mill", 2], [3, 5, "Oma_-LRB-film-RRB-", 1]]],
    },
    {
        "id": 8,
        "verifiable": "NOT VERIFIABLE",
        "label": "NOT ENOUGH INFO",
        "claim": "Ada Orn sang.",
        "evidence": [[[9, None, None, None]]],
    },
]
WIKI = [
    {"id": "", "text": "", "lines": ""},
    {"id": "Oma_-LRB-film-RRB-", "text": "Oma -LRB- 1950 -RRB- is a film .", "lines": "0\tOma ..."},
    {"id": "Lirr", "text": "The Lirr is a river .", "lines": "0\tThe Lirr ..."},
]
HOVER = {
    "uid": "h-1",
    "claim": "The mill on the Lirr grinds rye.",
    "supporting_facts": [["Lirr", 0], ["Oma Mill", 1], ["Lirr", 2]],
    "label": "SUPPORTED",
    "num_hops": 2,
    "hpqa_id": "5a1",
}
MULTIHOP = {
    "query": "Do both papers blame the mill?",
    "answer": "Yes",
    "question_type": "comparison_query",
    "evidence_list": [
        {
            "title": "Flood at the mill",
            "author": "A",
            "url": "u",
            "source": "S",
            "category": "c",
            "published_at": "d",
            "fact": "f",
        },
    ],
}
ARTICLE = {
    "title": "Flood at the mill",
    "author": "A",
    "source": "S",
    "published_at": "d",
    "category": "c",
    "url": "u",
    "body": "It rained.",
}
FANOUT = {
    "id": "f1",
    "question": "How long are the rivers of Velland?",
    "categories": ["geography"],
    "answer": {"Lirr": 40, "Ost": "12 km", "wet": True},
    "decomposition": [
        {"id": "a", "question": "Which rivers?", "decomposition": [], "answer": ["Lirr", "Ost"], "depends_on": [],
         "evidence": {"pageid": 1, "revid": 2, "title": "Rivers of Velland", "url": "u"}},
        {"id": "b", "question": "How long?", "answer": 40, "depends_on": ["a"], "evidence": None, "decomposition": [
            {"id": "c", "question": "How long is the Lirr?", "decomposition": [], "answer": 40, "depends_on": [],
             "evidence": {"pageid": 3, "revid": 4, "title": "Lirr", "url": "u"}}]},
    ],
}  # fmt: skip
FRAMES = (
    "Prompt\tAnswer\twikipedia_link_1\twikipedia_link_2\twikipedia_link_11+\treasoning_types\twiki_links\n"
    '"Which is longer, Lirr or ""Ost""?"\tLirr\thttps://en.wikipedia.org/wiki/Lirr_(river)\t'
    "https://en.wikipedia.org/wiki/Caf%C3%A9_Ost\t\tNumerical reasoning | Tabular reasoning\t"
    "\"['https://en.wikipedia.org/wiki/Lirr_(river)', 'https://en.wikipedia.org/wiki/Caf%C3%A9_Ost']\"\n"
)
PARALLEL = {"id": 3, "question": "Which is longer if Ost doubles?", "answer": "Lirr", "branch": 2}


def as_json(file: Path, *rows: Any) -> Path:
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


def as_lines(file: Path, *rows: Any) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def only(task: Task) -> Question:
    assert len(task.questions) == 1
    return task.questions[0]


def passages(task: Task) -> dict[str, dict[str, str]]:
    assert task.corpus is not None
    rows = [json.loads(line) for line in task.corpus.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def test_hotpotqa_keeps_stray_quotes_and_names_its_documents(tmp_path: Path) -> None:
    other = HOTPOT | {"_id": "5a2", "supporting_facts": [["Oma Mill", 0]]}
    task = tasks.load(as_json(tmp_path / "any.json", HOTPOT, other), cache=tmp_path / "cache")
    question = task.questions[0]
    pages = passages(task)
    assert (task.name, task.metrics[0], task.licence) == ("hotpotqa", "em", "CC BY-SA 4.0")
    assert question.answers == ('"Velland',)
    assert question.facts == (("Oma Mill", 0), ("Lirr", 1))
    assert [pages[name]["title"] for name in question.documents] == ["Oma Mill", "Lirr"]
    assert pages[question.documents[1]]["text"] == "The Lirr is a river. It ends in Velland."
    assert len(pages) == 3, "the same passage of two questions is there once, an empty one not at all"


def test_a_fullwiki_question_whose_gold_is_not_in_its_context_is_scored_by_titles(tmp_path: Path) -> None:
    row = HOTPOT | {"supporting_facts": [["Oma Mill", 0], ["Not retrieved", 0]]}
    question = only(tasks.load(as_json(tmp_path / "f.json", row), cache=tmp_path))
    assert question.documents == ()
    assert question.supporting == ("Oma Mill", "Not retrieved")


def test_2wiki_reads_its_zip_and_takes_aliases_and_demonyms_as_right(tmp_path: Path) -> None:
    file = tmp_path / "data_ids.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("__MACOSX/data/dev.json", "rubbish")
        archive.writestr("data/train.json", json.dumps([TWOWIKI | {"_id": "t"}]))
        archive.writestr("data/dev.json", json.dumps([TWOWIKI]))
        archive.writestr(
            "data/id_aliases.json", json.dumps({"Q_id": "Q7", "aliases": ["Vel"], "demonyms": ["Vellish"]})
        )
    task = tasks.load(file, cache=tmp_path / "c")
    assert (task.name, only(task).id) == ("2wikimultihopqa", "2w1")
    assert only(task).answers == ("Velland", "Vel", "Vellish")
    assert len(only(task).documents) == 2
    assert only(tasks.load(file, split="train")).id == "t"
    assert only(tasks.load(f"2wiki:{file}#data/train.json")).id == "t"
    with pytest.raises(BadInput, match="holds no file 'x'"):
        tasks.load(f"2wiki:{file}#x")


def test_musique_goes_by_ids_where_titles_repeat(tmp_path: Path) -> None:
    twin = MUSIQUE | {"answerable": False}
    task = tasks.load(as_lines(tmp_path / "musique_full_v1.0_dev.jsonl", MUSIQUE, twin), cache=tmp_path / "c")
    first, second = task.questions
    pages = passages(task)
    assert [pages[name]["text"] for name in first.documents] == ["Oma Mill stands on it.", "Ada Orn built it."]
    assert first.answers == ("Ada Orn", "A. Orn")
    assert [part.document for part in first.parts] == list(first.documents)
    assert first.parts[1].question == "Who built #1 ?"
    assert first.type == "2hop"
    assert (second.id, second.answers, second.level) == ("2hop__11_22-unanswerable", (), "unanswerable")


def test_bamboogle_is_a_table_of_two_columns(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text('Question,Answer\n"Who, then, built it?",Ada Orn\n', encoding="utf-8")
    task = tasks.load(file, cache=tmp_path)
    assert (task.name, task.corpus) == ("bamboogle", None)
    assert (only(task).text, only(task).answers) == ("Who, then, built it?", ("Ada Orn",))


def test_strategyqa_joins_the_paragraphs_of_all_annotators(tmp_path: Path) -> None:
    (tmp_path / "strategyqa_train_paragraphs.json").write_text(json.dumps(PARAGRAPHS))
    task = tasks.load(as_json(tmp_path / "strategyqa_train.json", STRATEGY), cache=tmp_path / "c")
    question, pages = only(task), passages(task)
    assert question.answers == ("no",)
    assert [pages[name]["title"] for name in question.documents] == ["Oma Mill", "Rice"]
    assert question.parts[0].document == question.documents[0]
    assert question.parts[1].document == ""


def test_strategyqa_without_paragraphs_still_has_titles(tmp_path: Path) -> None:
    task = tasks.load(as_json(tmp_path / "strategyqa_train.json", STRATEGY), cache=tmp_path)
    assert task.corpus is None
    assert only(task).supporting == ("Oma Mill", "Rice")


def test_fever_keeps_every_sufficient_set_and_reads_wiki_pages(tmp_path: Path) -> None:
    pages = tmp_path / "wiki-pages.zip"
    with zipfile.ZipFile(pages, "w") as archive:
        archive.writestr("wiki-pages/wiki-001.jsonl", "".join(json.dumps(row) + "\n" for row in WIKI))
    task = tasks.load(as_lines(tmp_path / "d.jsonl", *FEVER), cache=tmp_path / "c")
    first, second = task.questions
    assert task.kind == "claim"
    assert task.labels == ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    assert first.evidence == ((("Oma (film)", 0),), (("Oma Mill", 2), ("Oma (film)", 1)))
    assert first.supporting == ("Oma (film)",)
    assert [passages(task)[name]["text"] for name in first.documents] == ["Oma ( 1950 ) is a film ."]
    assert (second.answers, second.evidence, second.documents) == (("NOT ENOUGH INFO",), (), ())


def test_hover_claims_meet_a_given_corpus_by_title(tmp_path: Path) -> None:
    corpus = as_lines(
        tmp_path / "intros.jsonl",
        {"id": "w1", "title": "lirr ", "text": "A river."},
        {"id": "w2", "title": "Oma Mill", "sentences": ["A mill.", "Old."]},
    )
    task = tasks.load(as_json(tmp_path / "hover.json", HOVER), corpus=corpus, cache=tmp_path / "c")
    assert only(task).documents == ("w1", "w2")
    assert only(task).type == "2hop"
    assert passages(task)["w2"]["text"] == "A mill. Old."


def test_two_passages_of_one_title_leave_it_to_the_titles(tmp_path: Path) -> None:
    rows = [{"id": f"w{i}", "title": title, "text": f"{i}"} for i, title in enumerate(["Lirr", "Lirr", "Oma Mill"])]
    corpus = as_lines(tmp_path / "c.jsonl", *rows)
    assert only(tasks.load(as_json(tmp_path / "h.json", HOVER), corpus=corpus, cache=tmp_path)).documents == ()


def test_multihoprag_finds_its_articles_beside_it(tmp_path: Path) -> None:
    as_json(tmp_path / "corpus.json", ARTICLE)
    task = tasks.load(as_json(tmp_path / "MultiHopRAG.json", MULTIHOP), cache=tmp_path / "c")
    assert [passages(task)[name]["text"] for name in only(task).documents] == ["It rained."]
    assert only(tasks.load(tmp_path, cache=tmp_path / "c")).id == only(task).id, "the folder does as well"


def test_fanoutqa_has_its_fields_and_its_steps_inner_ones_first(tmp_path: Path) -> None:
    question = only(tasks.load(as_json(tmp_path / "fanout-final-dev.json", FANOUT)))
    assert question.structured == {"Lirr": "40", "Ost": "12 km", "wet": "yes"}
    assert question.answers == ("Lirr: 40; Ost: 12 km; wet: yes",)
    assert question.supporting == ("Rivers of Velland", "Lirr")
    assert [part.question for part in question.parts] == ["Which rivers?", "How long is the Lirr?", "How long?"]
    assert question.parts[0].answer == "Lirr, Ost"


def test_frames_reads_titles_from_its_addresses(tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    file.write_text(FRAMES, encoding="utf-8")
    question = only(tasks.load(file))
    assert question.text == 'Which is longer, Lirr or "Ost"?'
    assert question.supporting == ("Lirr (river)", "Café Ost")
    assert question.type == "Numerical reasoning | Tabular reasoning"


@pytest.mark.parametrize("write", [as_json, as_lines])
def test_parallelqa_comes_as_a_list_or_as_lines(tmp_path: Path, write: Any) -> None:
    task = tasks.load(write(tmp_path / "p", PARALLEL))
    assert (task.name, only(task).id, only(task).type) == ("parallelqa", "3", "branch2")


def test_a_gz_is_read_as_what_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "hover.json.gz"
    file.write_bytes(gzip.compress(json.dumps([HOVER]).encode()))
    assert tasks.load(file).name == "hover"


def test_a_long_list_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sleuth.bench.tasks import files

    monkeypatch.setattr(files, "BLOCK", 7)
    rows = [HOTPOT | {"_id": f"é{i}"} for i in range(20)]
    task = tasks.load(as_json(tmp_path / "h.json", *rows))
    assert [question.id for question in task.questions] == [f"é{i}" for i in range(20)]


def test_the_corpus_is_named_by_its_source_and_not_written_twice(tmp_path: Path) -> None:
    file = as_json(tmp_path / "h.json", HOTPOT)
    first = tasks.load(file, cache=tmp_path / "c")
    assert first.corpus is not None
    before = first.corpus.stat()
    assert tasks.load(file, cache=tmp_path / "c") == first
    assert first.corpus.stat().st_mtime_ns == before.st_mtime_ns
    other = tasks.load(as_json(file, HOTPOT, HOTPOT | {"_id": "b"}), cache=tmp_path / "c")
    assert other.corpus != first.corpus
    assert not [path for path in (tmp_path / "c").rglob(".*") if path.is_file()], "no half file is left"


def test_a_corpus_with_one_content_under_two_ids_keeps_the_first(tmp_path: Path) -> None:
    as_lines(tmp_path / "corpus.jsonl", *({"id": name, "title": "Lirr", "text": "A river."} for name in ("w1", "w2")))
    row = {"id": "a", "question": "Which?", "answers": ["Lirr"], "supporting_ids": ["w2"], "dataset": "x"}
    as_lines(tmp_path / "questions.jsonl", row)
    for _ in range(2):  # the second reads what was kept
        task = tasks.load(tmp_path, cache=tmp_path / "c")
        assert only(task).documents == ("w1",)
        assert list(passages(task)) == ["w1"]


def test_a_row_that_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r'Record 2 of .*h\.json is no question of HotpotQA: "question" is missing'):
        tasks.load(as_json(tmp_path / "h.json", HOTPOT, {"_id": "x", "context": []}))
    with pytest.raises(BadInput, match=r"Line 2 of .*f\.jsonl is no question of FEVER: \"label\" is \"MAYBE\""):
        tasks.load(as_lines(tmp_path / "f.jsonl", FEVER[0], FEVER[1] | {"label": "MAYBE"}))
    with pytest.raises(BadInput, match="stands twice"):
        tasks.load(as_json(tmp_path / "t.json", HOTPOT, HOTPOT))
    (tmp_path / "cut.json").write_text(json.dumps([HOTPOT, HOTPOT])[:-40])
    with pytest.raises(BadInput, match=r"Record 2 of .*cut\.json is not JSON"):
        tasks.load(tmp_path / "cut.json")


def test_a_file_of_another_set_is_told_apart(tmp_path: Path) -> None:
    file = as_json(tmp_path / "h.json", HOVER)
    with pytest.raises(BadInput, match="no file of FEVER: it looks like HoVer"):
        tasks.load(f"fever:{file}")
    with pytest.raises(UnknownName, match="no data set named 'hotpotqqa'"):
        tasks.load(f"hotpotqqa:{file}")
    with pytest.raises(BadInput, match="says not where it is") as caught:
        tasks.load("hotpotqa")
    assert "http://curtis.ml.cmu.edu" in str(caught.value)
    with pytest.raises(BadInput, match="no file or folder"):
        tasks.load("hotpotqa:nowhere.json")


def test_an_archive_that_blows_up_is_stopped_and_a_damaged_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sleuth.bench.tasks import files

    monkeypatch.setattr(files, "FREE_BYTES", 1 << 20)
    bomb = tmp_path / "b.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("dev.json", "[" + " " * (8 << 20))
    with pytest.raises(BadInput, match="unpacks to far more"):
        tasks.load(bomb)
    gz = tmp_path / "b.json.gz"
    gz.write_bytes(gzip.compress(b"[" + b" " * (8 << 20)))
    with pytest.raises(BadInput, match="unpacks to far more"):
        tasks.load(gz)
    gz.write_bytes(gzip.compress(json.dumps([HOTPOT]).encode())[:-20])
    with pytest.raises(BadInput, match="damaged"):
        tasks.load(gz)
    bomb.write_bytes(b"PK\x03\x04" + b"x" * 50)
    with pytest.raises(BadInput, match="damaged"):
        tasks.load(bomb)


def test_a_name_in_an_archive_never_becomes_a_path(tmp_path: Path) -> None:
    file = tmp_path / "in" / "e.zip"
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../dev.json", json.dumps([TWOWIKI]))
    assert only(tasks.load(file, cache=tmp_path / "c")).id == "2w1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "in"]


def test_every_card_is_whole() -> None:
    for name, loader in tasks.TABLE.items():
        card = loader.card
        assert name == card.name
        assert card.licence
        assert "section" in card.source
        assert all(address.startswith(("http://", "https://")) for address in card.addresses)
        assert metrics.find(card.metrics)
