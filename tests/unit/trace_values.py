"""Hypothesis strategies for values, requests, errors and event streams, and a recorded run to test with."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from sleuth import errors, events, types
from sleuth.codec import digest
from sleuth.events import Closed, Event, Failed, Finished, Noted, Opened, Span, Started
from sleuth.types import Answer, Completion, Generate, Hop, Listen, Message, Passage, Search, Usage

texts = st.text(st.characters(), max_size=12)  # lone surrogates included
long_texts = st.sampled_from(
    [
        "The Eiffel Tower was completed in 1889, and was the tallest structure in the world for forty-one years.",
        "The Eiffel Tower was completed in 1889, and is named after the engineer whose company built it from 1887 on.",
        "Benjamin Harrison was president from 4 March 1889 to 4 March 1893, between the two terms of Grover Cleveland.",
        "\ud83d is a lone surrogate, and this text is longer than the shortest text that is kept once in a trace.",
    ]
)
contents = st.lists(texts | long_texts, max_size=4).map("".join)
floats = st.floats(allow_nan=False)
scalars = st.none() | st.booleans() | st.integers() | floats | contents
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts | st.sampled_from(["~", "text", "v"]), inner, max_size=3)
        | st.dictionaries(st.integers() | st.tuples(texts), inner, max_size=2)
    ),
    max_leaves=6,
)
data = st.dictionaries(texts | st.just("~"), anything, max_size=3)


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Values for a type hint of a field."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return st.sampled_from(args)
    if origin is tuple:
        inner = of_type(args[0])
        return st.lists(inner, max_size=3).map(tuple) if args[-1] is ... else st.tuples(*map(of_type, args))
    if origin is not None and dataclasses.is_dataclass(origin):
        return instances(origin)
    if args and origin is not None and issubclass_of_mapping(origin):
        return data
    if args:
        return st.one_of([of_type(arg) for arg in args])
    if dataclasses.is_dataclass(hint):
        return instances(hint)
    simple = {str: contents, int: st.integers(), float: floats, bool: st.booleans(), type(None): st.none()}
    return simple.get(hint, anything)


def issubclass_of_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, typing.Mapping)  # type: ignore[arg-type]


def instances(kind: Any) -> st.SearchStrategy[Any]:
    """Instances of a dataclass of types or events, each field given or left at its default."""
    hints = typing.get_type_hints(kind)
    fields = {field.name: of_type(hints[field.name]) for field in dataclasses.fields(kind)}
    return st.deferred(lambda: st.builds(kind, **fields))


def storable(module: Any, *, but: Sequence[Any]) -> list[Any]:
    """The dataclasses of a module."""
    found = [kind for kind in vars(module).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    return [kind for kind in found if kind.__module__.startswith(module.__name__) and kind not in but]


VALUE_KINDS = storable(types, but=(types.Strategy, types.Request, types.Fork))
EVENT_KINDS = storable(events, but=(Event, Started, Failed))
values = st.one_of([instances(kind) for kind in (*VALUE_KINDS, *EVENT_KINDS)])

ERROR_KINDS = [
    kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SleuthError)
]
safe = st.text("abc é漢", max_size=12)
failures = st.builds(
    lambda kind, message, hint, details: kind(message, hint=hint, **details),
    st.sampled_from(ERROR_KINDS),
    safe,
    safe,
    st.dictionaries(st.sampled_from(["reply", "retry_after", "limit"]), st.none() | st.integers() | safe, max_size=2),
)

generates = instances(Generate)
requests = st.one_of(generates, generates.map(Listen), instances(Search), instances(types.Open), instances(types.Count))


@st.composite
def dialogues(draw: st.DrawFn) -> list[Generate]:
    """Calls that extend, cut, or have nothing to do with earlier ones."""
    message = st.builds(Message, st.sampled_from(["user", "assistant", "observation"]), contents)
    calls: list[Generate] = []
    for _ in range(draw(st.integers(1, 7))):
        base = draw(st.sampled_from(calls)).messages if calls and draw(st.booleans()) else ()
        keep = draw(st.integers(0, len(base)))
        calls.append(Generate((*base[:keep], *draw(st.lists(message, max_size=4)))))
    return calls


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Events of a run: `Opened`, requests and their outcomes in several branches, perhaps `Closed`."""
    bodies: list[tuple[Span, Any]] = [(Span("", 0), Opened(draw(contents), draw(data)))]
    spans = st.builds(Span, st.sampled_from(["", "0", "0.1", "1" * 60]), st.integers(0, 40))
    for call in draw(dialogues()):
        span = draw(spans)
        request = Listen(call) if draw(st.booleans()) else call
        bodies.append((span, Started(request, "d" * 16, draw(st.integers(0, 2)))))
        bodies.append((span, draw(instances(Finished) | instances(Noted) | instances(events.Attempt))))
        bodies.append((span, Finished(tuple(draw(st.lists(instances(Passage), max_size=3))))))
    if draw(st.booleans()):
        bodies.append((Span("", 0), Closed(draw(instances(Answer)))))
    return [Event("run-1", 2 * seq, 1e9 + seq / 3, span, body) for seq, (span, body) in enumerate(bodies)]


# --- a five-hop run ---------------------------------------------------------------------------------------------

WORDS = (
    "tower president completed engineer company office between years structure world city built named after first term "
    "second river bridge opened museum painted border mountain valley century railway station harbour treaty signed"
).split()


def sentence(seed: int, words: int) -> str:
    """Some words; another seed, another text."""
    return " ".join(
        WORDS[(seed * 7 + i * (seed % 11 + 3)) % len(WORDS)] + str(seed % 97) * (i % 9 == 0) for i in range(words)
    )


def passage(number: int) -> Passage:
    title = sentence(number, 2).title()
    return Passage(
        f"{title}#{number}", title, title, sentence(number, 68), 7.12345 - number / 10, (0, 510), f"covers: {title}"
    )


def five_hops(run: str = "20250101T000000-aaaa", k: int = 2) -> list[Event]:
    """What a Self-Ask run with five hops of k passages (about 500 characters) leaves behind: head of 5,000 characters, reader call, proof."""
    head = "\n".join(sentence(i, 11) for i in range(1000, 1060))
    out: list[tuple[Span, Any]] = [
        (Span("", 0), Opened("Who was president?", {"strategy": "self-ask", "model": "local"}))
    ]
    turns: list[Message] = [Message("user", head + "\nQuestion: Who was president?\n"), Message("assistant", "Yes.\n")]
    hops: list[Hop] = []
    number = 0
    ordinals: dict[str, int] = {}

    def request(asked: Any, value: Any, usage: Usage) -> None:
        nonlocal number
        number += 1
        identity = digest(asked)
        out.append((Span("", number), Started(asked, identity, ordinals.get(identity, 0))))
        out.append((Span("", number), Finished(value, usage)))
        ordinals[identity] = ordinals.get(identity, 0) + 1

    for hop in range(5):
        usage = Usage(calls=1, read=113, cached=1200 + hop * 150, written=17, seconds=1.2345678901)
        asked = Generate((*turns, Message("assistant", "Follow up:")), stop=("\nIntermediate answer:",))
        follow_up = f" {sentence(50 + hop, 10)}?"
        request(
            asked, Completion(follow_up, "label", "\nIntermediate answer:", usage, -3.25, model="local:model"), usage
        )
        found = tuple(passage(hop * k + i) for i in range(k))
        request(
            Search(follow_up.strip(), k, True, tuple(p.id for h in hops for p in h.evidence)), found, Usage(searches=1)
        )
        hops.append(Hop(follow_up.strip(), follow_up.strip(), found[0].text[:60], "found", found, None, True))
        out.append((Span("", number), Noted("hop", follow_up.strip(), {"hop": hops[-1]})))
        snippet = f"\nIntermediate answer: {found[0].title}: {found[0].text[:300]}\n"
        turns += [Message("assistant", f"Follow up:{follow_up}"), Message("observation", snippet)]
    read = tuple(p for hop in hops for p in hop.evidence[:1])
    pooled = "".join(f"{p.title}\n{p.text}\n\n" for p in read)
    request(
        Generate((Message("user", pooled),), "read", closing=True), Completion(" Benjamin Harrison"), Usage(calls=1)
    )
    transcript = "".join(turn.content for turn in turns[1:])
    answer = Answer("Benjamin Harrison", "answered", "final_answer", (), 0.8, tuple(hops), read, transcript, run=run)
    out.append((Span("", 0), Closed(answer)))
    return [Event(run, seq, 1735689600.123456 + seq, span, body) for seq, (span, body) in enumerate(out)]
