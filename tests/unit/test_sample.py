"""The sample library is well formed, and its questions need more than one article."""

from __future__ import annotations

import json
import pathlib
import re
import unicodedata
from typing import Any

import pytest

from sleuth.sample import articles_path, questions_path


def _read(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


ARTICLES = _read(articles_path())
QUESTIONS = _read(questions_path())
TEXT = {a["title"]: a["text"] for a in ARTICLES}
YES_NO = {"yes", "no"}


def _norm(text: str) -> str:
    text = unicodedata.normalize("NFC", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", text))


def _contains(haystack: str, needle: str) -> bool:
    return f" {_norm(needle)} " in f" {_norm(haystack)} "


def _page(title: str) -> str:
    return f"{title}\n{TEXT[title]}"


def _is_yes_no(question: dict[str, Any]) -> bool:
    return question["answers"][0] in YES_NO


def _of_type(*types: str) -> list[Any]:
    return [pytest.param(q, id=q["id"]) for q in QUESTIONS if q["type"] in types]


def test_article_count_and_unique_titles() -> None:
    assert 75 <= len(ARTICLES) <= 95
    assert len(TEXT) == len(ARTICLES)
    assert len({_norm(title) for title in TEXT}) == len(ARTICLES)


@pytest.mark.parametrize("article", [pytest.param(a, id=a["title"]) for a in ARTICLES])
def test_article_is_plain_prose(article: dict[str, Any]) -> None:
    assert set(article) == {"title", "text"}
    text = article["text"]
    assert article["title"] == article["title"].strip() != ""
    assert 50 <= len(text.split()) <= 240
    assert text == unicodedata.normalize("NFC", text)
    paragraphs = text.split("\n\n")
    assert 1 <= len(paragraphs) <= 3
    for paragraph in paragraphs:
        assert paragraph == paragraph.strip()
        assert "\n" not in paragraph
        assert "  " not in paragraph
        assert paragraph[-1] in '."'


def test_question_count_ids_and_types() -> None:
    assert len(QUESTIONS) == 40
    assert len({q["id"] for q in QUESTIONS}) == 40
    assert len({_norm(q["question"]) for q in QUESTIONS}) == 40
    types = [q["type"] for q in QUESTIONS]
    assert set(types) == {"time", "bridge", "comparison"}
    assert types.count("time") >= 10
    assert any(":" in q["question"] for q in QUESTIONS)


def test_first_question() -> None:
    first = QUESTIONS[0]
    assert first["question"] == "Who was US president when the Eiffel Tower was completed?"
    assert first["answers"][0] == "Benjamin Harrison"
    assert first["supporting"] == ["Eiffel Tower", "Benjamin Harrison"]


@pytest.mark.parametrize("question", _of_type("time", "bridge", "comparison"))
def test_question_shape(question: dict[str, Any]) -> None:
    assert set(question) == {"id", "question", "answers", "supporting", "type", "hops"}
    assert question["question"].endswith("?")
    assert question["answers"]
    assert len(set(question["answers"])) == len(question["answers"])
    supporting = question["supporting"]
    assert len(set(supporting)) == len(supporting) >= 2
    assert all(title in TEXT for title in supporting)
    assert question["hops"] == len(supporting)
    assert question["hops"] in (2, 3)


@pytest.mark.parametrize("question", _of_type("time", "bridge", "comparison"))
def test_answer_is_in_a_supporting_article(question: dict[str, Any]) -> None:
    if _is_yes_no(question):
        assert question["type"] == "comparison"
        return
    if question["type"] == "comparison":
        assert any(answer in question["supporting"] for answer in question["answers"])
        return
    pages = [_page(title) for title in question["supporting"]]
    assert any(_contains(page, answer) for page in pages for answer in question["answers"])


@pytest.mark.parametrize("question", _of_type("time", "bridge"))
def test_question_does_not_hold_its_answer(question: dict[str, Any]) -> None:
    # Short forms may coincide with another name ("Ford"), so the canonical answer is checked.
    assert not _contains(question["question"], question["answers"][0])


@pytest.mark.parametrize("question", _of_type("time", "bridge"))
def test_only_the_last_supporting_article_holds_the_answer(question: dict[str, Any]) -> None:
    """The first article (for a time question, the event's) does not name the answer."""
    for title in question["supporting"][:-1]:
        for answer in question["answers"]:
            assert not _contains(_page(title), answer), (title, answer)


@pytest.mark.parametrize("question", _of_type("time"))
def test_no_article_joins_event_and_office_holder(question: dict[str, Any]) -> None:
    """No article names both the event's article and the office-holder."""
    event = question["supporting"][0].split(" (")[0]
    for title in TEXT:
        page = _page(title)
        if _contains(page, event):
            assert not any(_contains(page, answer) for answer in question["answers"]), title


@pytest.mark.parametrize("question", _of_type("comparison"))
def test_compared_articles_are_both_needed(question: dict[str, Any]) -> None:
    """Each side of a comparison is named in the question, whatever its prefix or suffix."""
    for title in question["supporting"]:
        name = re.sub(r"^Pope ", "", title)
        assert _contains(question["question"], name), title
