"""Makes what is generated in README.md and docs/: help pages, cards, tables, the example session and its picture.

    python docs/make.py             write what has changed (``make docs``)
    python docs/make.py --check     write nothing; exit status 1 when a page is stale
    python docs/make.py --record    ask the example question with the embedded model first, and keep its trace

Generated text stands between ``<!-- made: NAME -->`` and ``<!-- end -->``; everything else is written by hand.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any, get_args

from rich.console import Console

from sleuth import errors, events, types
from sleuth.app.settings import PREFIX, Settings
from sleuth.app.strategies import accepted
from sleuth.cli.answers import cost
from sleuth.cli.entry import build
from sleuth.cli.text import one_line
from sleuth.events import Closed, Event, Finished, Noted, Opened
from sleuth.strategies import DEFAULT, TABLE
from sleuth.trace import read_trace
from sleuth.types import Answer, Completion, Strategy

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SOURCE = ROOT / "src" / "sleuth"
EXAMPLE = DOCS / "example.jsonl"
PICTURE = DOCS / "example.svg"
QUESTION = "Who was US president when the Eiffel Tower was completed?"
RUNS = "~/.local/share/sleuth/runs"

MARKED = re.compile(r"(<!-- made: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

NOTES: Mapping[str, str] = {
    "action": "ReAct's action, as it was understood",
    "budget": "the budget did not cover a further call: the run goes on with what it has",
    "compared": "the dates that two steps found decide which is the earlier or the later, without a call",
    "compressed": "the dialogue's older steps were replaced by a summary: tokens before and after, and what a prefix cache may have lost",
    "confidence": "between hops, a short answer was read: how sure it is, `by` what, the threshold, and whether the loop stops",
    "contradicted": "the dates in the passages speak against an answer; it is read again",
    "fallback": "a search found nothing and is made in other words (`level`: expansion or keywords) `instead_of` the query",
    "finding": "what is wrong with a plan: `code`, `step`, and whether it is `fatal`",
    "follow_ups": "all follow-up questions at once: `steps` with what each depends on, `groups` that are looked up together",
    "grounding": "whether the answer follows from what was cited, by which `rule`, from which quotes",
    "hop": "a look-up: question, query, passages with why each is there, intermediate answer, outcome, quote",
    "model_error": "the model could not answer a further call: the run goes on with what it has",
    "nothing_found": "a search brought nothing (which is no failure, and not tried again)",
    "orphaned": "a step that was started and that the repaired plan does not ask any more; it is cancelled",
    "own_observation": "the model wrote an observation itself, which was cut off",
    "plan": "a plan's outline, and in `plan` its JSON",
    "read": "a short answer was read from passages, with its log-probability",
    "reformulated": "other words are searched for what was asked before (`instead`)",
    "refused": "a follow-up that says no more than the question, or was asked before; `by_rule` asks in its place",
    "repair": "a malformed reply is asked for once more",
    "repeat_told": "the model is told that it did the same before",
    "reused": "a repaired plan asks a step that was started already: its result is taken",
    "route": "the strategy that `auto` chose, the question's type, what speaks for it, and whether rules or the model told it",
    "search_failed": "a search failed or timed out; `again` says whether it is tried once more",
    "step_failed": "a plan's step has no result that can be used: `step`, `reason`",
    "switch": "one strategy hands over to another: `from`, `to`, `reason`, and the `step` of a plan that failed",
    "thought": "ReAct's thought (its `purpose` where its words tell it), CoT's, or the next sentence of IRCoT's reasoning",
    "tool_failed": "a tool `refused` its arguments or `failed`; the model is told, and the run goes on",
    "unparsable": "a reply does not follow the scaffold",
    "unsure": "the answer's log-probability is under the threshold: more is read",
    "votes": "`counts`: how many samples gave each answer",
    "when": "the moment that the question is about was found, and where",
}
"""Kinds of `Noted` that the packaged strategies write. A test compares them with the source."""

ATTEMPTS: Mapping[str, str] = {
    "cache": "answered from a recording (replay, resume) or from calls made before (bench)",
    "download": "the model file is being fetched",
    "fault": "the library on disk is damaged, or model calls cannot be kept (bench)",
    "load": "the embedded model is being loaded",
    "overrun": "the model used more than it had said it would; the budget charges what it can",
    "queue": "a bench's call waited for its turn at the embedded model",
    "repair": "the server refused a part of the request, which is left out or said otherwise",
    "retry": "the call failed in a way that may pass, and is made again after a wait",
    "wait": "waiting: for the server's rate limit, for a free place, or for other calls to settle",
}
"""Kinds of `Attempt`. A test compares them with the source."""

ENDED: Mapping[str, str] = {
    "final_answer": "the strategy came to its end",
    "confident": "the answer was sure enough to stop early",
    "follow_up_limit": "Self-Ask asked as many follow-ups as it may",
    "step_limit": "ReAct, Act or IRCoT took as many steps as it may",
    "repeated": "the same follow-up or action came again",
    "unparsable": "the model's reply did not follow the scaffold",
    "budget": "calls, tokens or dollars would have passed the limit",
    "deadline": "the seconds were over",
    "cancelled": "Ctrl-C, or the program cancelled the run",
    "source_error": "a search could not be had",
    "model_error": "the model could not answer",
    "ungrounded": "the answer did not follow from what was cited, and an abstention was asked for",
}


# --- what is generated ------------------------------------------------------------------------------------------


def session() -> str:
    """The example as the command line prints it in a pipe: the answer and its proof."""
    recorded = read_trace(EXAMPLE)
    answer = closed(recorded)
    lines = [f'$ sleuth ask --strategy self-ask "{opened(recorded).question}"', answer.text]
    for number, citation in enumerate(answer.citations, start=1):
        lines.append(f'  [{number}] {citation.title}: "{one_line(citation.quote)}"')
    lines.append(f"status   {answer.status}, {answer.ended.replace('_', ' ')}")
    lines.append(f"cost     {cost(answer.usage, recorded[-1].at - recorded[0].at)}")
    lines.append(f"trace    {RUNS}/{answer.run}.jsonl")
    return fenced("console", "\n".join(lines))


def strategies_table() -> str:
    """One line a strategy."""
    rows = []
    for each in TABLE.values():
        default = " (default)" if each.card.name == DEFAULT else ""
        most = str(each.most_calls(each.settings["default"]))
        rows.append((f"`{each.card.name}`{default}", each.card.summary, each.card.calls, most))
    return table(("strategy", "what it does", "model calls", "never more than"), rows)


def cards() -> str:
    """Every card in full."""
    return "\n".join(card(each) for each in TABLE.values())


def card(strategy: Strategy) -> str:
    """A strategy's card, parameters and settings."""
    about = strategy.card
    shape = [name for name in ("loop", "parallel", "branch", "person_in_the_loop") if getattr(about, name)]
    facts = (
        ("source", about.paper),
        ("other names", ", ".join(f"`{alias}`" for alias in about.aliases)),
        ("shape", ", ".join(shape).replace("_", " ") or "one pass"),
        ("autonomy, cost, latency", f"{about.autonomy}, {about.cost}, {about.latency}"),
        ("model calls", about.calls),
        ("parameters", ", ".join(f"`{p.name}={shown(p.default)}`" for p in accepted(strategy).values())),
        *((f"setting `{name}`", settings(strategy, values)) for name, values in strategy.settings.items()),
    )
    return "\n".join(
        [
            f"## {about.name}\n",
            f"{about.summary}\n",
            f"Use it for: {'; '.join(about.when)}.\n",
            f"Avoid it for: {'; '.join(about.avoid)}.\n",
            table(("", ""), facts),
        ]
    )


def settings(strategy: Strategy, values: Mapping[str, Any]) -> str:
    """A named set of parameters, and the most model calls it makes."""
    told = ", ".join(f"`{key}={shown(value)}`" for key, value in values.items()) or "the parameters as they are"
    return f"{told}; model calls: {strategy.most_calls(values)} at most"


def shown(value: object) -> str:
    """A default as it is written, long texts cut."""
    text = repr(value)
    return text if len(text) <= 40 else "..."


def help_pages() -> str:
    """Every command's ``--help``."""
    pages = []
    for words in commands():
        out = io.StringIO()
        console = Console(file=out, width=100, color_system=None, legacy_windows=False)
        build()([*words, "--help"], console=console, exit_on_error=False, result_action="return_value")
        text = "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())
        pages.append(f"## {' '.join(['sleuth', *words])}\n\n{fenced('text', text)}")
    return "\n".join(pages)


def commands() -> list[tuple[str, ...]]:
    """The words of every command and group, the application itself first."""
    app = build()
    found: list[tuple[str, ...]] = [()]
    for name in (name for name in app if not name.startswith("-")):
        found.append((name,))
        found += [(name, inner) for inner in app[name] if not inner.startswith("-")]
    return found


def bodies() -> str:
    """The kinds of event, from their docstrings."""
    kinds: tuple[type, ...] = get_args(events.Body)
    return table(("body", "fields", "meaning"), [(f"`{k.__name__}`", fields(k), prose(k)) for k in kinds])


def requests() -> str:
    """The requests a flow can yield, from their docstrings."""
    kinds = [k for k in vars(types.requests).values() if inspect.isclass(k) and types.Request in k.__mro__[1:]]
    return table(("request", "fields", "meaning"), [(f"`{k.__name__}`", fields(k), prose(k)) for k in kinds])


def fields(kind: type) -> str:
    """The names of a dataclass's fields."""
    return ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind))


def prose(thing: object) -> str:
    """A docstring as one line of Markdown, its double backticks made single."""
    return " ".join((inspect.getdoc(thing) or "").split()).replace("``", "`").replace("|", "\\|")


def settings_table() -> str:
    """Every setting with its variable and default, and what they mean."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default_factory or field.default is None else f"`{json.dumps(field.default)}`"
        rows.append((f"`{name}`", f"`{PREFIX}{name.upper()}`", default))
    return f"{table(('setting', 'variable', 'default'), rows)}\n{prose(Settings)}\n"


def error_tree() -> str:
    """The tree in the docstring of `sleuth.errors`."""
    text = inspect.getdoc(errors) or ""
    drawn = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    return fenced("text", "\n".join(drawn))


def kinds(meanings: Mapping[str, str]) -> Callable[[], str]:
    """A table of kinds and what each means."""
    return lambda: table(("kind", "meaning"), [(f"`{kind}`", text) for kind, text in meanings.items()])


SECTIONS: Mapping[str, Callable[[], str]] = {
    "session": session,
    "strategies": strategies_table,
    "cards": cards,
    "help": help_pages,
    "bodies": bodies,
    "requests": requests,
    "errors": error_tree,
    "settings": settings_table,
    "notes": kinds(NOTES),
    "attempts": kinds(ATTEMPTS),
    "ended": kinds(ENDED),
}


# --- the picture ------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A line of the picture: how it is set, its text, and what marks it on the left (a number, a dot, nothing)."""

    style: str
    text: str
    mark: str = ""


WIDTH, LEFT, LINE, LETTERS = 880, 64, 21, 104
STYLES = {
    "head": "font-weight:600;fill:#1f2328",
    "plain": "fill:#1f2328",
    "found": "fill:#0a5c2b",
    "faint": "fill:#59636e",
}


def picture() -> str:
    """The example's trace, drawn from top to bottom; it brings its own light ground, so it reads on any page."""
    rows = [one for row in steps(read_trace(EXAMPLE)) for one in folded(row)]
    height = LINE * len(rows) + 40
    title = escape(f"Trace of the run: {QUESTION}")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{title}</title>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="#ffffff" stroke="#d1d9e0"/>',
        f'<line x1="36" y1="30" x2="36" y2="{height - 30}" stroke="#8c959f" stroke-width="2"/>',
        '<g font-family="ui-sans-serif, system-ui, sans-serif" font-size="14">',
    ]
    for number, row in enumerate(rows):
        y = 32 + LINE * number
        if row.mark:
            out += mark(row.mark, y)
        out.append(f'<text x="{LEFT}" y="{y}" style="{STYLES[row.style]}">{escape(row.text)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def mark(text: str, y: int) -> Iterator[str]:
    """A disc on the line, with a number in it or small and empty."""
    size = 5 if text == "." else 12
    yield f'<circle cx="36" cy="{y - 5}" r="{size}" fill="#0a5c9e" stroke="#ffffff" stroke-width="2"/>'
    if text != ".":
        yield f'<text x="36" y="{y}" text-anchor="middle" font-size="13" fill="#ffffff">{escape(text)}</text>'


def folded(row: Row) -> Iterator[Row]:
    """A row as lines that fit."""
    for number, line in enumerate(wrap(row.text, LETTERS) or [""]):
        yield row if number == 0 and line == row.text else Row(row.style, line, "" if number else row.mark)


def steps(recorded: Iterable[Event]) -> Iterator[Row]:
    """What the picture tells of each event."""
    hops = 0
    for event in recorded:
        match event.body:
            case Opened(question=question):
                yield Row("head", question, "?")
            case Finished(value=Completion(usage=usage)):
                told = f"model call: read {usage.read} new and {usage.cached} cached tokens, wrote {usage.written}"
                yield Row("faint", told, ".")
            case Noted(kind="hop", text=text, data=data):
                hops += 1
                yield from hop(hops, text, data)
            case Noted(kind=kind, text=text) if kind != "read":
                yield Row("plain", f"{kind}: {text}", ".")
            case Closed(answer=answer):
                yield Row("head", answer.text, "=")
                yield from (Row("found", f"“{each.quote}” ({each.title})") for each in answer.citations)


def hop(number: int, question: str, data: Mapping[str, Any]) -> Iterator[Row]:
    """A hop: its follow-up question, the passages and why each is there, the intermediate answer."""
    yield Row("head", question, str(number))
    for each in data.get("passages", ()):
        yield Row("faint", f"passage: {each['title']} ({'; '.join(each['why'].split('; ')[:2])})")
    yield Row("found", str(data.get("answer", "")))


# --- the whole --------------------------------------------------------------------------------------------------


def opened(recorded: Iterable[Event]) -> Opened:
    """How the recorded run began."""
    return next(event.body for event in recorded if isinstance(event.body, Opened))


def closed(recorded: Iterable[Event]) -> Answer:
    """What the recorded run ended with."""
    return next(event.body.answer for event in recorded if isinstance(event.body, Closed))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(heads), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fenced(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```\n"


def markdown() -> list[Path]:
    """README and every page of docs/."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def pages() -> dict[Path, str]:
    """Every generated file and what should stand in it."""
    made: dict[Path, str] = {PICTURE: picture()}
    for path in markdown():
        text = path.read_text(encoding="utf-8")
        filled = MARKED.sub(lambda m: f"{m[1]}{SECTIONS[m[2]]()}{m[3]}", text)
        if MARKED.search(text):
            made[path] = filled
    return made


def stale() -> list[Path]:
    """Generated files that differ from what they should be."""
    return [path for path, text in pages().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]


def written_kinds(function: str) -> set[str]:
    """The kinds that the source passes as a literal to `note`, to a `report`, or to `Attempt`."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = ast.unparse(node.func)
                if re.fullmatch(function, name) and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value)
    return found


def record() -> None:
    """Ask the example question with the embedded model, and keep the trace without this machine's paths."""
    import sleuth

    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "run.jsonl")
        sleuth.ask(QUESTION, strategy="self-ask", trace=trace)
        lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        data = line.get("body", {}).get("data", {})
        if isinstance(data, dict) and "path" in data:
            data["path"] = Path(data["path"]).name
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    EXAMPLE.write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """Write, or with --check only compare."""
    if "--record" in words:
        record()
    late = stale()
    made = pages()
    for path in late:
        sys.stdout.write(f"{'stale' if '--check' in words else 'made'}: {path.relative_to(ROOT)}\n")
        if "--check" not in words:
            path.write_text(made[path], encoding="utf-8")
    return 1 if late and "--check" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
