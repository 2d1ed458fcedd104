"""Every prompt as it is really sent, kept in golden files; and no prompt names what a question could be about.

``SLEUTH_WRITE_GOLDEN=1 pytest tests/unit/test_prompts.py`` writes the files anew: do it only for a change you mean.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import anyio
import pytest

from sleuth import sample
from sleuth.engine import Engine
from sleuth.models.script import Script
from sleuth.sources.shelf import Shelf
from sleuth.strategies import TABLE, reader
from sleuth.strategies.trajectories import VERDICTS
from sleuth.types import Completion, Generate, Message, Passage

GOLDEN = Path(__file__).parent / "golden"
DATA = Path(os.environ.get("SLEUTH_DATA") or Path(__file__).parents[3] / "shared" / "data")
SETTINGS = [(name, setting) for name, strategy in TABLE.items() for setting in strategy.settings]

QUESTION = "Which river runs past the town where Ada Tell was born?"
PAGES = {
    "Ada Tell": "Ada Tell was a painter. She was born in Brenn.",
    "Brenn": "Brenn is a town on the river Tarn. Question: what is this? It has a mill.",
}
REPLIES = {
    "hybrid": [
        '{"steps": [{"id": "s1", "query": "Where was Ada Tell born?", "depends_on": []}, '
        '{"id": "s2", "query": "Which river runs past {s1}?", "depends_on": ["s1"]}]}',
        " Brenn",
        " unknown",
        " I search it.\nAction 1: Search[Brenn]\nObservation 1:",
        " Tarn",
        " Done.\nAction 2: Finish[Tarn]\n",
        " Tarn",
    ],
    "hybrid.paper": [
        '{"steps": [{"id": "s1", "query": "Where was {s1} born?", "depends_on": ["s1"]}]}',
        "No plan.",
        " I search it.\nAction 1: Search[Brenn]\nObservation 1:",
        " Done.\nAction 2: Finish[Tarn]\n",
    ],
    "plan-and-solve": [
        '{"steps": [{"id": "s1", "query": "Where was {s1} born?", "depends_on": ["s1"]}]}',
        '{"steps": [{"id": "s1", "query": "Where was Ada Tell born?", "depends_on": []}, '
        '{"id": "s2", "query": "Which river runs past {s1}?", "depends_on": ["s1"]}]}',
        " Brenn",
        " Tarn",
        " Tarn",
    ],
    "parallel-self-ask": [
        "\nFollow up: Where was Ada Tell born?\nFollow up: Which river runs past {1}?\nIntermediate answer:",
        " Brenn",
        " Tarn",
        " Tarn",
    ],
    "self-ask": [
        " Where was Ada Tell born?",
        Completion(" Tarn", logprob=-1.0),
        "So the final answer is: Tarn",
        " Tarn",
    ],
    "self-ask.memory": [
        " Yes.\nFollow up: Where was Ada Tell born?\nIntermediate answer: Brenn\nSo the final answer is: Tarn"
    ],
    "self-ask.paper": [
        " Yes.\nFollow up: Where was Ada Tell born?\nIntermediate answer:",
        "So the final answer is: Tarn",
        " Tarn",
    ],
    "ircot": [
        " Ada Tell was born in Brenn.\nPassage: Brenn",
        Completion(" Tarn", logprob=-1.0),
        " The river Tarn runs past Brenn, so the answer is: Tarn",
        " Tarn",
    ],
    "ircot.paper": [
        " Ada Tell was born in Brenn. She painted.",
        " So the answer is: Tarn.",
        " Ada Tell was born in Brenn. The river Tarn runs past Brenn. So the answer is: Tarn.",
    ],
    "cot-sc": [" It is the Tarn.\nAnswer: Tarn", " It is the Silt.\nAnswer: Silt"] * 11,
    "cot-sc.claims": [" It is so.\nAnswer: SUPPORTS"] * 5,
    "react-then-cot-sc": [
        " Done.\nAction 1: Finish[Tarn]\n",
        Completion(" Silt", logprob=-3.0),
        *[" It is the Tarn.\nAnswer: Tarn"] * 5,
    ],
    "react-then-cot-sc.paper": [" I stop.", " I stop.", *[" It is the Tarn.\nAnswer: Tarn"] * 21],
    "react-then-cot-sc.claims": [" I stop.", " I stop.", *[" It is so.\nAnswer: SUPPORTS"] * 5],
    "cot-sc-then-react": [*[" I cannot say."] * 5, " Done.\nAction 1: Finish[Tarn]\n", " Tarn"],
    "cot-sc-then-react.paper": [*[" I cannot say."] * 21, " Done.\nAction 1: Finish[Tarn]\n"],
    "cot-sc-then-react.claims": [*[" I cannot say."] * 5, " Done.\nAction 1: Finish[SUPPORTS]\n"],
    "cot": [" She was born in Brenn, on the Tarn.\nAnswer: Tarn"],
    "cot.claims": [" It is so.\nAnswer: SUPPORTS"],
    "standard.claims": [" REFUTES"],
    "act": [" Search[Ada Tell]", Completion(" Tarn", logprob=-1.0), " Finish[Tarn]", " Tarn"],
    "act.paper": [" Search[Ada Tell]", " Finish[Tarn]"],
    "act.claims": [" Search[Ada Tell]", " Finish[SUPPORTS]"],
    "react.paper": [" I search her.\nAction 1: Search[Ada Tell]\n", " Done.\nAction 2: Finish[Tarn]\n"],
    "react.claims": [" I search her.\nAction 1: Search[Ada Tell]\n", " Done.\nAction 2: Finish[SUPPORTS]\n"],
    "react.sparse": [" Think[I need to search her.]", " Search[Ada Tell]", " Finish[Tarn]"],
    "react": [
        " I search her.\nAction 1: Search[Ada Tell]\nObservation 1:",
        Completion(" Tarn", logprob=-1.0),
        " Done.\nAction 2: Finish[Tarn]\n",
        " Tarn",
    ],
}


def sent(name: str, setting: str, question: str, pages: dict[str, str]) -> list[Generate]:
    """The model's requests in a run with the replies above."""
    strategy = TABLE[name]
    script = Script(REPLIES.get(f"{name}.{setting}", REPLIES.get(name, [" Tarn"])))
    anyio.run(Engine(script, Shelf(pages)).run, strategy.flow(question, **strategy.settings[setting]))
    return script.requests


def shown(requests: Sequence[Generate]) -> str:
    """The requests as a person reads them; a call that goes on from the one before shows only what is new."""
    parts, before = [], ()
    for number, request in enumerate(requests, 1):
        options = {"role": request.role, "stop": request.stop, "max_tokens": request.max_tokens, "shape": request.shape}
        flags = {"closing": request.closing, "logprob": request.logprob}
        flags |= {"temperature": request.temperature, "sample": request.sample}
        said = ", ".join(f"{key}={value!r}" for key, value in {**options, **flags}.items() if value)
        parts.append(f"#### call {number}: {said}\n")
        same = sum(
            1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(request.messages, before, strict=False))
        )
        parts += [f"#### as in call {number - 1}: {same} messages\n"] if same else []
        parts += [f"#### {message.role}\n{message.content}⏎\n" for message in request.messages[same:]]
        before = request.messages
    return "".join(parts)


def assert_golden(name: str, text: str) -> None:
    """The text is the golden file's, else the difference is told."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SLEUTH_WRITE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.is_file() else ""
    if text != kept:
        lines = (kept.splitlines(), text.splitlines())
        changed = "\n".join(difflib.unified_diff(*lines, f"golden/{name}.txt", "sent now", lineterm="", n=2))
        pytest.fail(
            f"A prompt has changed. If it is meant, write it anew with SLEUTH_WRITE_GOLDEN=1.\n{changed}", False
        )


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_the_prompts_of_a_strategy_are_those_of_its_golden_file(name, setting):
    assert_golden(f"{name}.{setting}", shown(sent(name, setting, QUESTION, PAGES)))


def test_the_readers_prompt_with_two_passages_is_that_of_its_golden_file():
    passages = [Passage(title, title, title, text) for title, text in PAGES.items()]
    assert_golden("reader", shown([Generate(reader.prompt(QUESTION, passages), "read", reader.STOP)]))


def test_every_golden_file_has_its_test():
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {
        "reader",
        "judge",
        *(f"{name}.{setting}" for name, setting in SETTINGS),
    }


@pytest.mark.parametrize(("name", "setting"), SETTINGS)
def test_no_worked_example_has_passages_and_a_readers_prompt_begins_alike_each_time(name, setting):
    readings = [request.messages for request in sent(name, setting, QUESTION, PAGES) if request.role == "read"]
    assert all(messages[0] == Message("user", reader.FORM.head()) for messages in readings)
    assert "Passage" not in reader.EXAMPLES[0][0] + reader.EXAMPLES[0][1]


REBUILT = {("ircot", "paper")}
"""Whose source has the passages before the reasoning, so that each search changes the middle of the prompt."""
HANDS_OVER = {"hybrid", "react-then-cot-sc", "cot-sc-then-react"}
"""Whose replies make it hand over to another strategy, which begins a dialogue of its own."""


@pytest.mark.parametrize(("name", "setting"), [pair for pair in SETTINGS if pair[0] in REPLIES and pair not in REBUILT])
def test_a_dialogue_only_grows(name, setting):
    """The next planning call begins with what was sent and written before, so that a prefix cache holds it."""
    plans = [request for request in sent(name, setting, QUESTION, PAGES) if request.role == "plan"]
    texts = ["".join(m.content for m in request.messages) for request in plans]
    anew = [after for before, after in itertools.pairwise(texts) if not after.startswith(before)]
    assert len(anew) == (name in HANDS_OVER)


# --- no names that a question could be about ----------------------------------------------------------------------

_NAME = re.compile(r"\b(?!The\b)[A-Z][\w’-]+(?:(?: (?:of|the|&|de|von))* [A-Z][\w’-]+)+")
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][\w’-]+")
PROMPTS = [f"{name}.{setting}" for name, setting in SETTINGS if not name.endswith("then-read")] + ["reader"]
_LABELS = {"Thought", "Action", "Observation", "Search", "Lookup", "Finish", "Question", "Think", "Claim", "Answer"} | {
    *VERDICTS
}


@cache
def plain(text: str) -> str:
    """The text's words between single spaces, one space at each end: a name is in it as whole words or not at all."""
    words = " ".join(re.findall(r"[^\W_]+", text.casefold()))
    return f" {words} "


@cache
def prompts() -> dict[str, str]:
    """The first prompt of each strategy and setting, for a question that names nothing."""
    first = {key: sent(*key.split("."), "?", {})[:1] for key in PROMPTS if key != "reader"}
    asked = {key: requests[0].messages if requests else () for key, requests in first.items()}
    asked["reader"] = reader.prompt("?", ())
    return {key: "".join(message.content for message in messages) for key, messages in asked.items()}


def sample_lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def entities(question: str) -> Iterator[str]:
    """The names in a question: runs of words with a capital, but for the word it begins with."""
    yield from re.findall(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*", question.split(" ", 1)[1])


def named_in_sample() -> set[str]:
    """Titles (also without what stands in brackets), entities of the questions, and their answers."""
    questions = sample_lines(sample.questions_path())
    titles = [str(article["title"]) for article in sample_lines(sample.articles_path())]
    found = {*titles, *(title.partition(" (")[0] for title in titles)}
    for question in questions:
        found |= {*entities(str(question["question"])), *question["answers"], *question["supporting"]}  # type: ignore[misc]
    return found - {"yes", "no"}


def made_up(text: str) -> set[str]:
    """The names of a prompt: several words with capitals, or one in the midst of a sentence."""
    return (set(_NAME.findall(text)) | set(_INSIDE.findall(_NAME.sub("...", text)))) - _LABELS


def clashes(names: Iterable[str], text: str) -> list[str]:
    whole = plain(text)
    return sorted(name for name in names if plain(name).strip() and plain(name) in whole)


def test_names_are_found_in_prompts_and_in_the_sample():
    names = set().union(*map(made_up, prompts().values()))
    assert {"Kessel Head", "Hobb & Daughters", "Norrbeck", "Quillon Singers", "Lake Mirrow", "Edda Wroll"} <= names
    assert {"Eiffel Tower", "Benjamin Harrison", "US"} <= named_in_sample()
    assert clashes(named_in_sample(), "When was the eiffel-tower built?") == ["Eiffel Tower"]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_no_prompt_names_what_the_sample_library_or_its_questions_are_about(prompt):
    assert clashes(named_in_sample(), prompts()[prompt]) == []


@cache
def articles() -> str:
    """The sample's articles as one text."""
    return " | ".join(f"{a['title']} | {a['text']}" for a in sample_lines(sample.articles_path()))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_no_name_of_a_prompt_stands_in_a_sample_article(prompt):
    assert clashes(made_up(prompts()[prompt]), articles()) == []


@cache
def evaluated() -> dict[str, str]:
    """Each evaluation set's questions, answers and supporting titles, as one text."""
    sets = {}
    for path in sorted(DATA.glob("*/questions.jsonl")):
        asked = sample_lines(path)
        fields = ([q["question"], *(q.get("answers") or ()), *(q.get("supporting") or ())] for q in asked)  # type: ignore[misc]
        sets[path.parent.name] = " | ".join(str(field) for parts in fields for field in parts)
    return sets


@pytest.mark.parametrize("prompt", PROMPTS)
def test_no_name_of_a_prompt_stands_in_an_evaluation_set(prompt):
    if not evaluated():
        pytest.skip(f"no evaluation sets in {DATA}: set SLEUTH_DATA")
    assert {
        name: found for name, text in evaluated().items() if (found := clashes(made_up(prompts()[prompt]), text))
    } == {}


def test_no_answer_of_the_readers_examples_is_a_gold_answer():
    if not evaluated():
        pytest.skip(f"no evaluation sets in {DATA}: set SLEUTH_DATA")
    gold = {
        plain(str(a))
        for path in DATA.glob("*/questions.jsonl")
        for q in sample_lines(path)
        for a in q.get("answers") or ()
    }  # type: ignore[attr-defined]
    assert [answer for _, answer in reader.EXAMPLES if answer not in ("yes", "no") and plain(answer) in gold] == []
