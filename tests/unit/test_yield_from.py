"""No verb, and no flow of one's own, is called in strategies and guards without ``yield from``.

Mypy sees it wherever a result is used; where none is (`note`, `cancel`, a flow that returns nothing) only this test
does. A flow may be handed on (returned, forked, kept in a variable, given as an argument): it is driven elsewhere.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import sleuth
from sleuth import verbs

PACKAGE = Path(sleuth.__file__).parent
FILES = sorted(path for room in ("strategies", "guards") for path in (PACKAGE / room).rglob("*.py"))
VERBS = {name for name, value in vars(verbs).items() if callable(value) and value.__module__ == verbs.__name__}


def gives_flow(function: ast.FunctionDef) -> bool:
    """Whether the function is annotated as returning a ``Flow[...]``."""
    returns = function.returns
    text = returns.value if isinstance(returns, ast.Constant) else ast.unparse(returns) if returns else ""
    return str(text).removeprefix("t.").removeprefix("types.").startswith("Flow[")


def flows_of(tree: ast.AST) -> set[str]:
    """Names of the functions and methods that return flows."""
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and gives_flow(node)}


def called(call: ast.Call) -> str:
    """The name under which something is called: ``note`` for ``note(...)``, ``verbs.note(...)`` and ``clock.note(...)``."""
    target = call.func
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""


def imported(tree: ast.AST) -> dict[str, str]:
    """What the verbs are called in this file: ``from sleuth.verbs import search as find`` makes find a search."""
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "sleuth.verbs")
    return {alias.asname or alias.name: alias.name for node in froms for alias in node.names}


def is_verb(call: ast.Call, names: dict[str, str]) -> bool:
    """Whether a verb of `sleuth.verbs` is called: by an imported name, or through the module."""
    if isinstance(call.func, ast.Attribute):
        owner = ast.unparse(call.func.value)
        return call.func.attr in VERBS and owner in ("verbs", "sleuth.verbs", "v")
    return names.get(called(call), "") in VERBS


def forgotten(source: str, elsewhere: frozenset[str] = frozenset()) -> list[str]:
    """The calls of flows that nobody drives, as "line: call". `elsewhere`: flows that other modules define."""
    tree = ast.parse(source)
    names, flows = imported(tree), flows_of(tree) | elsewhere
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    wrong = [c for c in calls if (is_verb(c, names) or called(c) in flows) and not driven(c, parents)]
    return [f"{call.lineno}: {ast.unparse(call)}" for call in wrong]


def driven(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether the flow is driven here or handed on whole: anything else takes the generator for its result."""
    parent = parents[call]
    if isinstance(parent, ast.IfExp) and call is not parent.test:
        parent = parents[parent]
    if isinstance(parent, ast.YieldFrom | ast.Return | ast.Lambda):
        return True
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
        return isinstance(target, ast.Name) and handed_on(target.id, call, parents)
    if isinstance(parent, ast.keyword):
        parent = parents[parent]
    return isinstance(parent, ast.Call)


def handed_on(name: str, call: ast.Call, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a variable that holds a flow is driven, returned or given on by name, and never used as its result."""
    scope: ast.AST = call
    while scope in parents and not isinstance(scope, ast.FunctionDef | ast.Module):
        scope = parents[scope]
    uses = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    if not uses:
        return False
    return all(isinstance(parents[n], ast.YieldFrom | ast.Return | ast.Call | ast.List | ast.Tuple) for n in uses)


@cache
def everywhere() -> frozenset[str]:
    """Names of the flows that the strategies and guards may import from each other: the public ones."""
    found = [flows_of(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES]
    return frozenset(name for flows in found for name in flows if not name.startswith("_"))


def test_the_verbs_and_flows_are_known():
    assert {"generate", "search", "open_page", "call", "note", "fork", "join", "next_of", "cancel"} <= VERBS
    assert {"look_up", "recorded", "concluded", "settled", "heard", "self_ask", "read_answer"} <= everywhere()
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_flow_is_driven_or_handed_on(path):
    wrong = forgotten(path.read_text(encoding="utf-8"), everywhere())
    assert not wrong, f"`yield from` is missing in {path.name}: {wrong}"


HEAD = "from sleuth.verbs import note, generate, search as find, fork, cancel\nfrom sleuth import verbs\n"


@pytest.mark.parametrize(
    "body",
    [
        "note('x')",
        "yield note('x')",
        "found = find('x')\n    return found[0]",
        "found = find('x')",
        "text = generate([]).text",
        "if note('x'):\n        pass",
        "verbs.note('x')",
        "cancel(task)",
        "helper()",
        "clock.helper()",
        "first, second = find('x')",
        "for p in find('x'):\n        pass",
        "return [*find('x')]",
        "x = helper() or 1",
        "x = helper() if x else None\n    return x + 1",
        "t.elsewhere(1)",
    ],
)
def test_a_forgotten_yield_from_is_caught(body):
    source = f"{HEAD}def helper() -> Flow[None]:\n    yield from note('y')\n\ndef flow() -> Flow[int]:\n    {body}\n"
    assert len(forgotten(source, frozenset({"elsewhere"}))) == 1


@pytest.mark.parametrize(
    "body",
    [
        "yield from note('x')",
        "found = yield from find('x')\n    return found[0]",
        "return (yield from generate([])).text",
        "task = yield from fork(helper())",
        "tasks = [(yield from fork(helper())) for _ in range(2)]",
        "return helper()",
        "return (yield from concluded(t, helper()))",
        "attempt = helper()\n    x = (yield from guarded(attempt)) if x else (yield from attempt)",
        "run = lambda: helper()",
        "x = yield from (helper() if x else note('y'))",
        "note = 3",
        "page.search('x')",
        "pattern.find('x')",
    ],
)
def test_flows_that_are_driven_or_handed_on_pass(body):
    source = f"{HEAD}def helper() -> Flow[None]:\n    yield from note('y')\n\ndef flow() -> Flow[int]:\n    {body}\n"
    assert forgotten(source) == []


def test_a_flow_annotated_by_text_or_through_its_module_is_known():
    assert flows_of(ast.parse("def a() -> 'Flow[int]': ...\ndef b() -> t.Flow[int]: ...\ndef c() -> int: ...")) == {
        "a",
        "b",
    }
