"""Each data set's metrics agree with its published rule, written a second time in tests/support/official.py."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from tests.support import official
from tests.support.scored import PAGES, record, scored

from sleuth.bench.metrics import TABLE
from sleuth.bench.questions import Question

DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
HARD = [
    "A", "The", "", "yes", "Yes.", "no", "noanswer", "no answer", "yes, they were", "Beyoncé", "Beyonce", "1969–70", "1969-70",
    "March 31, 1889", "31 March 1889", "1889-03-31", "324 m", "324 metres", "1,063 ft", "1063 ft", '"Rush"', "“Rush”", "Rush",
    "the the Rush", "b b a", "b", "an_other", "U.S.", "US", "l'an mil", "A. A. Milne", "İstanbul", "a\u00a0b", "no, no", "x" * 300,
]  # fmt: skip
LINES = [(title, at) for title in PAGES for at in range(4)]


def golds(name: str) -> list[list[str]]:
    """The real gold answers of a set, where it is there; constructed ones alone would be too kind."""
    file = DATA / name / "questions.jsonl"
    if not file.exists():
        return []
    return [json.loads(line)["answers"] for line in file.read_text(encoding="utf-8").splitlines()][:150]


def spoilt(text: str, rng: random.Random) -> str:
    """A gold answer as models give it."""
    words = text.split()
    changed = [
        text, text.upper(), f"The {text}.", f"“{text}”", " ".join(reversed(words)), " ".join(words[1:]), f"{text} {text}",
        f"It is {text}, I think", text.replace(" ", "-"), "yes", rng.choice(HARD),
    ]  # fmt: skip
    return rng.choice(changed)


def pairs(name: str) -> list[tuple[str, list[str]]]:
    rng = random.Random(name)
    real = [(spoilt(gold[0], rng), gold) for gold in golds(name)]
    built = [(answer, [gold]) for answer in HARD for gold in HARD if rng.random() < 0.25]
    several = [(rng.choice(HARD), rng.sample(HARD, 3)) for _ in range(60)]
    return real + built + several


def some_lines(rng: random.Random) -> list[tuple[str, int]]:
    return rng.sample(LINES, rng.randrange(0, 7))


@pytest.mark.parametrize("name", ["hotpotqa", "2wikimultihopqa"])
def test_hotpotqa_and_2wiki_answers_and_facts_agree(name: str) -> None:
    rng, cases = random.Random(7), pairs(name)
    assert len(cases) >= 200
    em, f1 = ("em", "f1") if name == "hotpotqa" else ("2wiki_em", "2wiki_f1")
    for answer, gold in cases:
        lines = some_lines(rng)
        facts = (
            rng.sample(lines, rng.randrange(1, len(lines) + 1)) if lines and rng.random() < 0.6 else [rng.choice(LINES)]
        )
        run, question = record(answer, lines), Question("q", "q", tuple(gold), facts=tuple(facts))
        nothing_left = not official.words(answer) and any(not official.words(g) for g in gold)
        assert scored(em, run, question) == any(official.hotpot_em(answer, g) for g in gold), (answer, gold)
        best = max(official.hotpot_prf(answer, g)[2] for g in gold)
        assert scored(f1, run, question) == pytest.approx(1.0 if nothing_left else float(best)), (answer, gold)
        same, _, _, fact_f1 = official.facts(lines, facts)
        assert scored("sf_em", run, question) == same
        assert scored("sf_f1", run, question) == pytest.approx(float(fact_f1))
        both, joint_f1 = official.joint(answer, gold, lines, facts)
        assert scored("joint_em", run, question) == both
        if not nothing_left:
            assert scored("joint_f1", run, question) == pytest.approx(float(joint_f1)), (answer, gold, lines, facts)


def test_musique_answers_with_aliases_and_support_agree() -> None:
    rng, cases = random.Random(8), pairs("musique")
    assert len(cases) >= 200
    for answer, gold in cases:
        lines = some_lines(rng)
        documents = tuple(f"d-{title}" for title in rng.sample(list(PAGES), rng.randrange(1, 4)))
        run, question = record(answer, lines), Question("q", "q", tuple(gold), documents=documents)
        assert scored("musique_em", run, question) == any(official.hotpot_em(answer, g) for g in gold)
        assert scored("musique_f1", run, question) == pytest.approx(float(official.musique_f1(answer, gold)))
        cited = [(f"d-{title}", 0) for title, _ in lines]
        support = official.facts(cited, [(document, 0) for document in documents])[3]
        assert scored("musique_support", run, question) == pytest.approx(float(support))


def claims() -> list[tuple[str, str, list[list[tuple[str, int]]], list[tuple[str, int]]]]:
    """Label, what was said, evidence sets and predicted sentences: constructed, and the real claims with theirs."""
    rng, found = random.Random(9), []
    for _ in range(300):
        label, said = rng.choice(LABELS), rng.choice([*LABELS, "supports", "Refutes.", "", "true"])
        evidence = [rng.sample(LINES, rng.randrange(1, 4)) for _ in range(rng.randrange(1, 4))]
        lines = some_lines(rng)
        if rng.random() < 0.6:
            lines = list(dict.fromkeys([*lines[: rng.randrange(0, 6)], *rng.choice(evidence)]))
        found.append((label, label if rng.random() < 0.6 else said, [] if label == LABELS[2] else evidence, lines))
    file = DATA / "fever" / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    for row in rows:
        sets = [[(title, at) for title, at in group] for group in row.get("evidence_sets", ())]
        told = [line for group in sets for line in group][: rng.randrange(0, 7)]
        found.append((row["answers"][0], rng.choice([row["answers"][0], *LABELS]), sets, list(dict.fromkeys(told))))
    return found


def pages_for(lines: list[tuple[str, int]]) -> dict[str, list[str]]:
    """Pages long enough to cite these sentences of."""
    return {
        title: [f"Sentence number {at} of this page." for at in range(1 + max(n for t, n in lines if t == title))]
        for title in dict.fromkeys(title for title, _ in lines)
    }


def ours(
    label: str, said: str, evidence: list[list[tuple[str, int]]], lines: list[tuple[str, int]]
) -> tuple[float, float]:
    question = Question("q", "q", (label,), kind="claim", evidence=tuple(map(tuple, evidence)))
    run = record(said, lines, pages=pages_for(lines))
    right, strict = scored("label", run, question), scored("fever", run, question)
    assert right is not None
    assert strict is not None
    return right, strict


def test_fever_label_accuracy_and_score_agree() -> None:
    cases = claims()
    assert len(cases) >= 200
    seen = set()
    for case in cases:
        expected = official.fever(case[0], case[1], case[2], case[3])
        assert ours(*case) == expected, case
        seen.add(expected)
    assert seen == {(False, False), (True, False), (True, True)}


def test_fever_score_agrees_with_the_fever_scorer_package() -> None:
    scorer = pytest.importorskip(
        "fever.scorer", reason="fever-scorer does not install: its setup.py needs files its sdist lacks"
    )
    for label, said, evidence, lines in claims():
        instance = {
            "label": label,
            "predicted_label": said,
            "evidence": [[[0, 0, title, at] for title, at in group] for group in evidence],
            "predicted_evidence": [[title, at] for title, at in lines],
        }
        right, strict = ours(label, said, evidence, lines)
        assert right == scorer.is_correct_label(instance)
        assert strict == scorer.is_strictly_correct(instance, max_evidence=5)


def test_every_exact_match_has_its_f1() -> None:
    for answer, gold in pairs("hotpotqa"):
        run = record(answer, [LINES[0]])
        question = Question("q", "q", tuple(gold), facts=(LINES[0],))
        for name in ("em", "musique_em", "2wiki_em", "joint_em", "sf_em"):
            exact, share = scored(name, run, question), scored(name.replace("em", "f1"), run, question)
            assert exact is not None
            assert share is not None
            assert exact <= share + 1e-12, (name, answer, gold)
    assert "2wiki_f1" in TABLE
