"""Scores of the answer's text, each by its data set's own rule. Without gold answers none applies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from sleuth.bench.metrics.amounts import agrees, amount
from sleuth.bench.metrics.metric import Metric, Score
from sleuth.bench.metrics.words import exact_match, f1, plain_f1
from sleuth.bench.questions import Question
from sleuth.bench.record import Record
from sleuth.guards.dates.moment import moments
from sleuth.guards.text import forms, normalised

HOTPOT = "Yang et al. 2018, hotpot_evaluate_v1.py"
MUSIQUE = "Trivedi et al. 2022, evaluate_v1.0.py (metrics/answer.py)"
TWO_WIKI = "Ho et al. 2020, 2wikimultihop_evaluate_v1.1.py"
FEVER = "Thorne et al. 2018, fever-scorer"
FANOUT = "Zhu et al. 2024, fanoutqa string accuracy"

_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}
_BESIDE_DATE = re.compile(r"(?:\b(?:on|in|the|of|year|from|to|and|born|died|c|ca)\b|[\s,.()'\"“”–—-])*", re.IGNORECASE)


def _on_answers(rule: Callable[[str, Sequence[str]], float]) -> Score:
    def score(record: Record, question: Question) -> float | None:
        return rule(record.text, question.answers) if question.answers else None

    return score


def right_label(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the labels are equal but for case (fever-scorer) and the space around them."""
    return float(any(answer.strip().upper() == g.strip().upper() for g in gold))


def yes_no(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the answer is yes or true, no or false, as the gold answer; a sentence that holds "yes" is neither."""
    said = _BOOLEANS.get(normalised(answer))
    return float(said is not None and any(_BOOLEANS.get(normalised(g)) is said for g in gold))


def any_word(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the answer shares a word with the gold answer, lower case, words between spaces.

    That is MultiHop-RAG's whole rule (qa_evaluate.py); it takes "it is not so" for "is it so". Read it beside exact match.
    """
    ours = set(answer.lower().split())
    return float(any(ours & set(g.lower().split()) for g in gold))


def found_share(answer: str, wanted: Sequence[str]) -> float:
    """Share of the wanted strings that stand in the answer as whole words; 0.0 of nothing."""
    text = _fanout(answer)
    stand = [bool(re.search(r"\b" + re.escape(_fanout(string)) + r"\b", text)) for string in wanted]
    return sum(stand) / len(stand) if stand else 0.0


def _fanout(text: str) -> str:
    """FanOutQA's normalised text, but for its lemmas (a spaCy model's): lower case, NFKC, 1,063 as 1063, no ``,.?!:;``."""
    text = unicodedata.normalize("NFKC", text.lower())
    text = re.sub(r"(?<!\d)\d+(?:,\d+)+(?:\.\d+)?", lambda match: match[0].replace(",", ""), text)
    return " ".join(re.sub(r"[,.?!:;]", "", text).split())


def _contains(record: Record, question: Question) -> float | None:
    if question.structured:
        return found_share(record.text, [*question.structured.keys(), *question.structured.values()])
    return max((found_share(record.text, [g]) for g in question.answers), default=None)


def _contains_all(record: Record, question: Question) -> float | None:
    share = _contains(record, question)
    return None if share is None else float(share == 1.0)


def same_number(answer: str, gold: Sequence[str]) -> float | None:
    """1.0 when the answer states a gold amount (`amounts.agrees`); None where no gold answer is an amount."""
    wanted = [found for g in gold if (found := amount(g)) is not None]
    return float(any(agrees(answer, each) for each in wanted)) if wanted else None


def _number(record: Record, question: Question) -> float | None:
    return same_number(record.text, question.answers)


def lenient(answer: str, gold: Sequence[str]) -> float:
    """1.0 when the answer says a gold answer in other signs: accents, kinds of dashes and quotes, forms of dates and numbers."""
    return float(any(_same(answer, g) for g in gold))


def _same(answer: str, gold: str) -> bool:
    if exact_match(answer, [gold]):
        return True
    ours, theirs = forms(answer), forms(gold)
    if ours == theirs and ours:
        return True
    dates = _whole_date(answer), _whole_date(gold)
    if dates[0] is not None and dates[1] is not None:
        return dates[0] == dates[1]
    return bool(same_number(answer, [gold]))


def _whole_date(text: str) -> tuple[object, object] | None:
    """First and last day of a text that is a date and nothing else."""
    found = moments(text)
    if len(found) != 1:
        return None
    begin, end = found[0].span
    beside = _BESIDE_DATE.fullmatch(text[:begin]) and _BESIDE_DATE.fullmatch(text[end:])
    return (found[0].first, found[0].last) if beside else None


METRICS = (
    Metric("em", "1", "share", "more", _on_answers(exact_match), "the answer is a gold answer, normalised", HOTPOT),
    Metric("f1", "1", "mean", "more", _on_answers(f1), "words shared with the best gold answer", HOTPOT),
    Metric("musique_em", "1", "share", "more", _on_answers(exact_match), "the answer is a gold alias", MUSIQUE),
    Metric("musique_f1", "1", "mean", "more", _on_answers(plain_f1), "words shared with the best gold alias", MUSIQUE),
    Metric("2wiki_em", "1", "share", "more", _on_answers(exact_match), "the answer is a gold alias", TWO_WIKI),
    Metric("2wiki_f1", "1", "mean", "more", _on_answers(f1), "words shared with the best gold alias", TWO_WIKI),
    Metric("label", "1", "share", "more", _on_answers(right_label), "the label is right", FEVER),
    Metric("yes_no", "1", "share", "more", _on_answers(yes_no), "yes or no is right", "Geva et al. 2021, accuracy"),
    Metric(
        "multihoprag", "1", "share", "more", _on_answers(any_word), "shares a word with gold", "Tang and Yang 2024, qa_evaluate.py"
    ),
    Metric("contains", "1", "mean", "more", _contains, "share of the gold strings in the answer (loose)", FANOUT),
    Metric("contains_all", "1", "share", "more", _contains_all, "every gold string in the answer (strict)", FANOUT),
    Metric("number", "1", "share", "more", _number, "the amount is right, in any form and unit", "Sleuth's own rule"),
    Metric(
        "lenient", "1", "share", "more", _on_answers(lenient),
        "right but for accents, dashes, quotes, forms of dates and numbers; beside exact match, never instead", "Sleuth's own rule",
    ),
)  # fmt: skip
