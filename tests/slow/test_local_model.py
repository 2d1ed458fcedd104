"""What the embedded model's adapter promises, with real models: why it stopped, log-probabilities, shapes, the prefix cache."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from sleuth.errors import BadInput, ContextTooLong
from sleuth.models.local import LocalModel
from sleuth.models.loopback import Exchange
from sleuth.models.slots import common_prefix
from sleuth.types import Choice, Completion, Generate, Grammar, Json, Message, Role, Shape, Verbatim

pytestmark = [pytest.mark.model, pytest.mark.slow]

EXAMPLES = """Question: What is the capital of Italy?
Answer: Rome

Question: What do bees make?
Answer: honey

"""


@pytest.fixture(scope="module")
def little(model_file: Callable[[str], Path]) -> Iterator[LocalModel]:
    """SmolLM2: it keeps the format and knows nothing."""
    yield from opened(model_file("smollm2-135m"), 2048)


def opened(path: Path, context: int) -> Iterator[LocalModel]:
    model = LocalModel(path, context=context)
    yield model
    anyio.run(model.aclose)


def silent(kind: str, text: str, **data: Any) -> None:
    """A report nobody reads."""


def ask(model: LocalModel, *texts: str, pieces: Callable[[str], None] | None = None, **options: Any) -> Completion:
    request = Generate(tuple(Message("user", text) for text in texts), **options)
    return anyio.run(partial(model.generate, request, report=silent, pieces=pieces))


# --- why it stopped --------------------------------------------------------------------------------------------


def test_a_stop_text_ends_the_reply_is_named_and_never_shown(little: LocalModel) -> None:
    pieces: list[str] = []
    reply = ask(
        little, EXAMPLES + "Question: Who wrote Hamlet?\nAnswer:", stop=("\nQuestion", "\n"), pieces=pieces.append
    )
    assert reply.finish == "label"
    assert reply.stopped_by == "\n"
    assert reply.text
    assert "\n" not in reply.text
    assert "".join(pieces) == reply.text


def test_a_stop_text_over_several_tokens_is_not_shown_in_part(little: LocalModel) -> None:
    whole = ask(little, EXAMPLES + "Question:", max_tokens=40).text
    label = whole[20:33]
    reply = ask(little, EXAMPLES + "Question:", max_tokens=40, stop=("no such text", label))
    assert (reply.text, reply.finish, reply.stopped_by) == (whole[: whole.index(label)], "label", label)


def test_the_limit_ends_the_reply(little: LocalModel) -> None:
    reply = ask(little, "One, two, three, four,", max_tokens=5)
    assert (reply.finish, reply.stopped_by, reply.usage.written) == ("limit", None, 5)


def test_the_model_ends_its_reply_itself(little: LocalModel) -> None:
    reply = ask(little, "Say yes or no:", shape=Choice((" yes", " no")), max_tokens=20)
    assert (reply.finish, reply.stopped_by) == ("end", None)
    assert reply.text in (" yes", " no")


# --- log-probabilities -----------------------------------------------------------------------------------------


async def raw(model: LocalModel, order: dict[str, Any]) -> dict[str, Any]:
    child = model._child
    assert child is not None
    async with Exchange(child.address, child.key, "/completion", order) as exchange:
        return dict(await exchange.body())


def test_the_logprob_is_the_sum_over_the_reply_and_leaves_the_stop_text_out(little: LocalModel) -> None:
    """Against the whole distribution, asked token by token: it sums to one, and greedy takes its top."""
    prompt = EXAMPLES + "Question: Who wrote Hamlet?\nAnswer:"
    reply = ask(little, prompt, stop=("\n",), logprob=True)

    async def by_hand() -> float:
        child = little._child
        assert child is not None
        tokens, total, text = list(await little._prompt(child, (Message("user", prompt),))), 0.0, ""
        while text != reply.text:
            order = {"prompt": tokens, "n_predict": 1, "temperature": 0.0, "n_probs": 60_000, "id_slot": 0}
            told = (await raw(little, order))["completion_probabilities"][0]
            assert sum(
                math.exp(top["logprob"]) for top in told["top_logprobs"] if top["logprob"] > -100
            ) == pytest.approx(1, abs=1e-3)
            assert told["logprob"] == max(top["logprob"] for top in told["top_logprobs"])
            tokens.append(told["id"])
            total += told["logprob"]
            text += told["token"]
        return total

    assert reply.logprob == pytest.approx(anyio.run(by_hand), abs=0.05)
    assert reply.usage.written > len(reply.text.split())
    assert ask(little, prompt, stop=("\n",)).logprob is None


def test_a_longer_stop_text_changes_neither_reply_nor_logprob(little: LocalModel) -> None:
    prompt = EXAMPLES + "Question: Who wrote Hamlet?\nAnswer:"
    ask(little, prompt, stop=("\n",))
    short, long = (ask(little, prompt, stop=stop, logprob=True) for stop in (("\n",), ("\n\nQuestion:", "\n")))
    assert short.text == long.text
    assert short.logprob == pytest.approx(long.logprob, abs=0.01)


# --- shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [" Follow up:", " So the final answer is:"])
def test_a_choice_is_one_of_its_texts(little: LocalModel, label: str) -> None:
    reply = ask(
        little,
        f"Write{label} Write{label} Write{label} Write",
        shape=Choice((" Follow up:", " So the final answer is:")),
    )
    assert reply.text == label


def test_a_grammar_is_kept(little: LocalModel) -> None:
    reply = ask(little, "The year was", shape=Grammar('root ::= " " [0-9] [0-9] [0-9] [0-9]'), max_tokens=20)
    assert len(reply.text) == 5
    assert reply.text.strip().isdigit()


def test_json_fits_its_schema_and_a_line_break_does_not_cut_it(embedded: LocalModel) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
        "required": ["name", "year"],
        "additionalProperties": False,
    }
    reply = ask(
        embedded,
        "The tower was completed in 1889. As JSON:\n",
        shape=Json(json.dumps(schema)),
        stop=("\n",),
        max_tokens=80,
    )
    assert reply.finish == "end"
    assert json.loads(reply.text)["year"] == 1889
    assert "\n" not in reply.text


def test_a_verbatim_reply_stands_in_the_text(embedded: LocalModel) -> None:
    text = 'The tower, called "La Dame de Fer", was completed in 1889 by the company of Gustave Eiffel.'
    prompt = f"{text}\nQuestion: Whose company completed the tower?\nAnswer: the company of"
    reply = ask(embedded, prompt, shape=Verbatim(text), stop=("\n",), max_tokens=20)
    assert reply.text.strip() in text
    assert "Gustave Eiffel" in reply.text
    assert reply.finish in ("label", "end")


@pytest.mark.parametrize("shape", [Grammar("root := (("), Json("no")])
def test_a_shape_that_cannot_be_read_is_the_callers_fault(little: LocalModel, shape: Shape) -> None:
    with pytest.raises(BadInput):
        ask(little, "x", shape=shape)


# --- tokens ----------------------------------------------------------------------------------------------------


def test_text_from_outside_has_no_special_tokens(little: LocalModel) -> None:
    count = partial(little.count, (Message("observation", "<|im_end|>"),))
    assert anyio.run(count) > 1


def test_the_count_is_what_a_call_reads(little: LocalModel) -> None:
    texts = ("Head. ", "It was 1889 — «naïve» 東京. ", "", "Tail\ud800")
    counted = anyio.run(partial(little.count, tuple(Message("user", text) for text in texts)))
    usage = ask(little, *texts, max_tokens=1).usage
    assert usage.read + usage.cached == counted
    assert (usage.calls, usage.usd, usage.written) == (1, 0.0, 1)
    assert usage.seconds > 0


def test_a_prompt_over_the_window_is_refused_and_the_model_stays_usable(little: LocalModel) -> None:
    with pytest.raises(ContextTooLong, match=r"tokens and the model's window is 2,048") as caught:
        ask(little, "word " * 3000)
    assert caught.value.details["tokens"] > 2048
    assert ask(little, "word " * 10, max_tokens=2).usage.written == 2


def test_a_reply_that_fills_the_window_ends_at_the_limit(model_file: Callable[[str], Path]) -> None:
    for model in opened(model_file("smollm2-135m"), 256):
        reply = ask(model, "word " * 240, max_tokens=100)
        assert reply.finish == "limit"
        assert reply.usage.written < 30


def test_an_empty_prompt_is_refused(little: LocalModel) -> None:
    with pytest.raises(BadInput, match="empty"):
        ask(little, "")


# --- sampling --------------------------------------------------------------------------------------------------


def test_the_sample_number_decides_the_draw(little: LocalModel) -> None:
    draws = [ask(little, "My favourite", temperature=1.0, sample=i, max_tokens=12).text for i in range(4)]
    assert len(set(draws)) > 1
    assert ask(little, "My favourite", temperature=1.0, sample=2, max_tokens=12).text == draws[2]


# --- the prefix cache ------------------------------------------------------------------------------------------


def test_after_the_first_call_only_new_text_is_read(little: LocalModel) -> None:
    """Plan and read calls alternate over three questions: at least 95% of what a prefix could save is saved."""
    could, was = anyio.run(partial(play, little))
    assert could > 2_500
    assert was >= 0.95 * could


async def play(model: LocalModel) -> tuple[int, int]:
    """Tokens that stood in the last prompt of the same role or its reply, and tokens read from cache."""
    could = was = 0
    last: dict[str, tuple[int, ...]] = {}

    async def call(messages: tuple[Message, ...], role: Role) -> str:
        nonlocal could, was
        request = Generate(messages, role=role, stop=("\n",), max_tokens=16)
        reply = await model.generate(request, report=silent)
        child = model._child
        assert child is not None
        tokens = await model._prompt(child, messages)
        could += min(common_prefix(last.get(role, ()), tokens), len(tokens) - 1)
        was += reply.usage.cached
        last[role] = await model._prompt(child, (*messages, Message("assistant", reply.text)))
        return reply.text

    plan_head = Message("user", EXAMPLES * 12)
    for question in ("Who built the tower?", "When did the river freeze?", "Where do the herons nest?"):
        turns = [plan_head, Message("user", f"Question: {question}\n")]
        for hop in range(3):
            text = await call((*turns, Message("assistant", "Follow up:")), "plan")
            found = f"Passage {hop} of {question} " + "It stands in the old town by the water. " * 4
            answer = await call(
                (Message("user", EXAMPLES), Message("observation", found), Message("user", "\nAnswer:")), "read"
            )
            turns += [
                Message("assistant", f"Follow up:{text}\n"),
                Message("observation", f"Intermediate answer:{answer}\n"),
            ]
    return could, was
