"""Hard answers: what each official rule says of them (often 0), and what the lenient metric beside it says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.scored import PAGES, record, scored
from tests.support.versions import digest

from sleuth.bench.metrics import TABLE, find
from sleuth.bench.metrics.words import shared
from sleuth.bench.questions import Question
from sleuth.errors import BadInput
from sleuth.types import Usage

GOLDEN = Path(__file__).parent / "golden" / "metrics.json"
TEXTS = st.one_of(
    st.text(max_size=20), st.sampled_from(["yes", "no", "A", "the", "1969–70", "Beyoncé", "324 m", "31 March 1889"])
)
OF_ANSWERS = ("em", "f1", "musique_em", "musique_f1", "lenient", "contains", "multihoprag", "yes_no", "label")


def on(name: str, answer: str, *gold: str) -> float | None:
    return scored(name, record(answer), Question("q", "q", gold))


@pytest.mark.parametrize(
    ("answer", "gold", "em", "f1", "lenient"),
    [
        ("Beyonce", "Beyoncé", 0, 0, 1),
        ("1969-70", "1969–70", 0, 0, 1),
        ("A", "A", 1, 1, 1),
        ("A", "B", 0, 0, 0),
        ("yes, they were", "yes", 0, 0, 0),
        ("yes", "no", 0, 0, 0),
        ("31 March 1889", "March 31, 1889", 0, 1, 1),
        ("1889-03-31", "March 31, 1889", 0, 0, 1),
        ("March 1889", "March 31, 1889", 0, 0.8, 0),
        ("1,063", "1063", 1, 1, 1),
        ("324 metres", "324 m", 0, 0.5, 1),
        ("1.2 million", "1,200,000", 0, 0, 1),
        ("twenty-one", "21", 0, 0, 1),
        ("1890", "1889", 0, 0, 0),
        ('"Rush"', "Rush", 1, 1, 1),
        ("“Rush”", "Rush", 0, 0, 1),
        ("Rush)", "(Rush", 1, 1, 1),
        ("", "Rush", 0, 0, 0),
    ],
)
def test_hard_answers(answer: str, gold: str, em: float, f1: float, lenient: float) -> None:
    assert (on("em", answer, gold), on("f1", answer, gold)) == (em, pytest.approx(f1))
    assert on("lenient", answer, gold) == lenient


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("1,063 ft", "324 m", 1),
        ("324 m (1,063 ft)", "324 m", 1),
        ("324", "324 m", 1),
        ("324 km", "324 m", 0),
        ("$1.2 billion", "1.2 billion dollars", 1),
        ("about 35", "35", 1),
        ("In 2020, 35 stores", "35", 0),
        ("36", "35", 0),
        ("37", "37th", 1),
        ("99.5%", "100 percent", 1),
        ("none", "35", 0),
        ("35", "Harrison", None),
    ],
)
def test_amounts_are_the_same_in_any_form_and_unit(answer: str, gold: str, right: float | None) -> None:
    assert on("number", answer, gold) == right


def test_data_sets_with_rules_of_their_own() -> None:
    assert (on("yes_no", "True.", "yes"), on("yes_no", "yes it is", "yes"), on("yes_no", "maybe", "no")) == (1, 0, 0)
    assert (on("multihoprag", "It is Yes", "yes"), on("multihoprag", "Yes.", "yes")) == (1, 0)
    assert (on("label", "supports ", "SUPPORTS"), on("label", "SUPPORTS.", "SUPPORTS")) == (1, 0)
    films = Question("q", "q", structured={"One": "$1,027", "Two": "5"})
    assert scored("contains", record("One took $1027, the other 55"), films) == 0.25  # "$" has no word edge before it
    assert scored("contains_all", record("one 5"), Question("q", "q", ("5",))) == 1.0


def test_yes_and_no_have_no_rule_of_their_own_in_musique() -> None:
    assert on("musique_f1", "yes they were", "yes") == 0.5
    assert on("f1", "yes they were", "yes") == 0.0


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_scores_stay_within_bounds_whatever_the_order_of_aliases(answer: str, gold: list[str]) -> None:
    for name in OF_ANSWERS:
        value = on(name, answer, *gold)
        assert value is not None
        assert 0.0 <= value <= 1.0
        assert value == on(name, answer, *reversed(gold))
    for pair in ("", "musique_", "2wiki_"):
        assert (on(f"{pair}em", answer, *gold) or 0.0) <= (on(f"{pair}f1", answer, *gold) or 0.0)
    assert (on("em", answer, *gold) or 0.0) <= (on("lenient", answer, *gold) or 0.0)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_precision_one_way_is_recall_the_other(ours: list[str], theirs: list[str]) -> None:
    there, back = shared(ours, theirs), shared(theirs, ours)
    assert (there.precision, there.f1) == (back.recall, back.f1)


def test_what_was_found_read_and_cited() -> None:
    gold = Question("q", "q", ("x",), supporting=("tarn  tower", "Elsewhere"))
    run = record("x", [("Tarn Tower", 0), ("Osk", 1)])
    names = ("recall_hops", "all_found", "recall_read", "citation_quoted", "citation_gold", "hops", "answered")
    assert [scored(name, run, gold) for name in names] == [0.5, 0.0, 0.5, 1.0, 0.5, 1.0, 1.0]
    closed = record("x", searched=False)
    assert [scored(name, closed, gold) for name in names[:5]] == [None] * 5
    by_id = Question("q", "q", ("x",), supporting=("Tarn Tower",), documents=("d-Osk",))
    assert scored("citation_gold", run, by_id) == 0.5
    assert scored("answered", record(""), gold) == 0.0


def test_without_gold_of_its_kind_a_metric_does_not_apply() -> None:
    run, bare = record("x", [("Osk", 1)]), Question("q", "q")
    always = {
        "answered",
        "hops",
        "citation_quoted",
        "calls",
        "searches",
        "tokens_read",
        "tokens_cached",
        "tokens_written",
        "seconds",
        "usd",
    }
    assert {name for name in TABLE if scored(name, run, bare) is not None} == always


def test_an_unknown_metric_is_refused_by_name() -> None:
    assert [metric.name for metric in find(["f1", "em", "f1"])] == ["f1", "em"]
    with pytest.raises(BadInput, match="no metric 'emm'"):
        find(["emm"])


# --- versions ---------------------------------------------------------------------------------------------------


def golden() -> dict[str, list[float | None]]:
    """Every metric over the same few runs and questions."""
    answers = [
        "Beyonce",
        "1969-70",
        "A",
        "yes, they were",
        "31 March 1889",
        "324 metres",
        "SUPPORTS",
        "“Rush”",
        "",
        "37th",
    ]
    gold = ["Beyoncé", "1969–70", "A", "yes", "March 31, 1889", "324 m", "SUPPORTS", "Rush", "NOT ENOUGH INFO", "37"]
    lines = [(title, at) for title in PAGES for at in range(2)]
    found: dict[str, list[float | None]] = {name: [] for name in TABLE}
    for at, text in enumerate(answers):
        usage = Usage(calls=at, searches=2, read=30, cached=4, written=5, usd=0.25, seconds=1.5)
        run = record(text, lines[: at % 4], confidence=at / 10, usage=usage)
        facts = tuple(lines[:2])
        question = Question(
            "q", "q", (gold[at], "Osk"), supporting=("Tarn Tower", "Osk", "Nowhere"), facts=facts, evidence=(facts, facts[:1])
        )  # fmt: skip
        for name in TABLE:
            value = scored(name, run, question)
            found[name].append(None if value is None else round(value, 9))
    return found


def test_a_metric_that_changes_has_a_new_version() -> None:
    """When this fails: raise the metric's version, then write the file anew (SLEUTH_GOLDEN=1). Only where a change of
    code changes no score anywhere may the version stay."""
    now = {
        name: {"version": metric.version, "code": digest(metric), "scores": scores}
        for (name, scores), metric in zip(golden().items(), TABLE.values(), strict=True)
    }
    if os.environ.get("SLEUTH_GOLDEN"):
        GOLDEN.write_text(
            "{\n" + ",\n".join(f' "{k}": {json.dumps(v)}' for k, v in now.items()) + "\n}\n", encoding="utf-8"
        )
    kept = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert [name for name in now if now[name] != kept.get(name)] == []
    assert kept.keys() == now.keys()
