"""Plans as text and as values: read from any reply, checked, mended, ordered, shown."""

from __future__ import annotations

import itertools
import json
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import BadInput, BadReply
from sleuth.guards import plans
from sleuth.guards.plans import (
    Plan,
    PlanReader,
    PlanStep,
    as_json,
    completed,
    estimate,
    from_json,
    groups,
    lint,
    mermaid,
    parse_plan,
    references,
    resolved,
)

TESLA = """{
  "steps": [
    {"id": "s1", "query": "Tesla price cut date", "depends_on": []},
    {"id": "s2", "query": "Tesla stock reaction {s1.date}", "depends_on": ["s1"]},
    {"id": "s3", "query": "Competitor reaction Tesla price cut", "depends_on": ["s1"]},
    {"id": "s4", "query": "Synthesis", "depends_on": ["s2", "s3"]}
  ]
}"""
ONE = PlanStep("s1", "x")


def step(step_id, query="q", *needs):
    return PlanStep(step_id, query, needs)


def codes(*steps, **limits):
    return {(finding.code, finding.step, finding.fatal) for finding in lint(Plan(steps), **limits)}


# --- reading ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TESLA,
        f"Sure [1], {{here}} it is, don't worry:\n```json\n{TESLA}\n```\nIt has {{4}} steps.",
        TESLA.replace('"id"', '"step_id"').replace('"query"', '"question"'),
        TESLA.replace('"', "'"),
        TESLA.replace("]}", "],}").replace("\n  ]", ",\n  ]"),
        TESLA.replace('", "depends', '" "depends').replace("},\n", "}\n"),
        json.dumps(json.loads(TESLA)["steps"]),
        "\n".join(json.dumps(one) for one in json.loads(TESLA)["steps"]),
        TESLA.replace('["s1"]', '"s1"').replace("[]", "null").replace('["s2", "s3"]', '"s2, s3"'),
        TESLA[: TESLA.rindex("]")],
        TESLA[: TESLA.rindex("}\n")],
        json.dumps({one.pop("id"): one for one in json.loads(TESLA)["steps"]}),
        f'{{"question": "How?", "plan": {TESLA}}}',
    ],
)
def test_a_plan_is_read_in_every_form_that_models_write(text):
    assert parse_plan(text) == parse_plan(TESLA)
    assert [s.depends_on for s in parse_plan(text).steps] == [(), ("s1",), ("s1",), ("s2", "s3")]


def test_apostrophes_stand_within_single_quotes_and_escapes_are_read():
    read = parse_plan(
        r"""[{'id': 1, 'query': 'Tesla's "stock", it\'s up', 'depends_on': []}, {"id": 2.5, "query": "a\"b\u00e9\n"}]"""
    )
    assert read.steps == (PlanStep("1", "Tesla's \"stock\", it's up"), PlanStep("2.5", 'a"bé'))


def test_a_step_that_was_only_begun_is_left_out_and_a_missing_id_is_counted():
    assert parse_plan('{"steps": [{"query": "x"}, {"id": "s2", "query": "half a que').steps == (ONE,)


def test_a_tool_and_a_synthesis_are_read():
    read = parse_plan(
        '[{"id":"a","query":"3 * 4","tool":"Calculate"},{"id":"b","query":"x","tool":"search"},{"id":"c","query":"","tool":"synthesis","depends_on":["a"]}]'
    )
    assert [(s.tool, s.synthesis) for s in read.steps] == [("Calculate", False), ("", False), ("", True)]


@pytest.mark.parametrize(
    "text", ["", "No plan.", "{}", '{"steps": []}', '{"answer": "x"}', "[1, 2]", "{s1}", '"query": "x"', "{" * 9]
)
def test_a_text_without_steps_is_a_bad_reply_and_an_edited_plan_without_them_bad_input(text):
    with pytest.raises(BadReply) as raised:
        parse_plan(text)
    assert raised.value.details["reply"] == text
    with pytest.raises(BadInput):
        from_json(text)


ODD = st.text(alphabet="{}[]\",:'\\ \nas1.qudepnid_oyr", max_size=120)
BROKEN = st.builds(lambda at, n, put: TESLA[:at] + put + TESLA[at + n :], st.integers(0, 300), st.integers(0, 9), ODD)


@given(st.one_of(st.text(), ODD, BROKEN, BROKEN))
def test_any_text_is_a_plan_or_a_bad_reply(text):
    try:
        plan = parse_plan(text)
    except BadReply:
        return
    assert plan.steps
    lint(plan)
    assert completed(completed(plan)) == completed(plan)
    str(plan).encode()


@given(st.one_of(BROKEN, ODD), st.lists(st.integers(0, 400), max_size=20))
def test_a_text_in_any_pieces_gives_what_it_gives_whole(text, cuts):
    reader, whole = PlanReader(), PlanReader()
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    found = [one for a, b in itertools.pairwise(ends) for one in reader.feed(text[a:b])]
    assert tuple(found) == whole.feed(text)
    assert reader.steps == whole.steps


def test_a_step_comes_with_the_brace_that_closes_it():
    reader = PlanReader()
    came = [len(reader.feed(char)) for char in TESLA]
    assert [at for at, n in enumerate(came) if n] == [
        at for at, c in enumerate(TESLA) if TESLA[at - 1 : at + 1] == "]}"
    ][:4]


def lines_run(work):
    """How many lines of `sleuth.guards` run: time as a machine without clock tells it."""
    ran = 0

    def line(frame, event, _):
        nonlocal ran
        ran += event == "line"
        return line

    def called(frame, event, _):
        return line if "guards" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)
    return ran


def wild(n, seed=7):
    """Steps with cycles, unknown and duplicate ids, {s1} beside {s10}, chains."""
    luck = random.Random(seed)
    return Plan(
        tuple(
            step(
                f"s{i if luck.random() > 0.01 else 1}",
                f"that city {{s1}} {{s{luck.randrange(n)}.date}} {{s10}}",
                f"s{i - 1}",
                f"s{luck.randrange(2 * n)}",
            )
            for i in range(n)
        )
    )


CHAIN = [Plan(tuple(step(f"s{i}", f"q {{s{i - 1}}}", f"s{i - 1}") for i in range(n))) for n in (500, 1000)]
RING = [Plan(tuple(step(f"s{i}", f"q {{s{(i + 1) % n}}}", f"s{(i + 1) % n}") for i in range(n))) for n in (500, 1000)]


@pytest.mark.parametrize(("small", "large"), [(wild(500), wild(1000)), CHAIN, RING])
@pytest.mark.parametrize("work", [lint, completed, groups, mermaid, lambda plan: parse_plan(as_json(plan))])
def test_work_on_a_plan_of_a_thousand_steps_is_linear(small, large, work):
    assert lines_run(lambda: work(large)) < 2.3 * lines_run(lambda: work(small))


def test_a_deep_or_unclosed_text_is_read_in_linear_time_without_recursion():
    for text in ("[" * 20_000, '{"a":' * 4_000, "[{'a': '" + "' x" * 4_000, '{"query": "' + "\\" * 9_001):
        half = text[: len(text) // 2]
        assert lines_run(lambda text=text: PlanReader().feed(text)) < 2.3 * lines_run(
            lambda half=half: PlanReader().feed(half)
        )


def test_a_query_that_points_never_waits_for_a_step_that_is_not_run():
    plan = Plan((PlanStep("s1", "Orl?"), PlanStep("s2", "Synthesis", synthesis=True), PlanStep("s3", "that city")))
    assert completed(plan).steps[2].depends_on == ("s1",)
    assert any("taken for the answer of s1" in finding.text for finding in lint(plan))
    alone = Plan((PlanStep("s1", "Synthesis", synthesis=True), PlanStep("s2", "that city")))
    assert any(finding.code == "anaphora" and finding.fatal for finding in lint(alone))


@settings(max_examples=50)
@given(
    st.lists(
        st.builds(
            lambda i, q, d, whole: PlanStep(f"s{i}", q, tuple(f"s{n}" for n in d), synthesis=whole),
            st.integers(0, 12),
            st.sampled_from(["{s1} {s10}", "that city", "Synthesis", "", "{s3.date} {x}"]),
            st.lists(st.integers(0, 14), max_size=4),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_what_the_linter_lets_pass_can_be_run_in_the_order_of_its_groups(steps):
    plan = Plan(tuple(steps))
    if any(finding.fatal for finding in lint(plan)):
        return
    mended, done = completed(plan), set()
    for group in groups(mended):
        for each in group:
            assert done >= set(next(s for s in mended.steps if s.id == each).depends_on)
        done |= set(group)
    assert done == {s.id for s in plan.steps}
    unsearched = {s.id for s in mended.steps if s.synthesis}
    assert not unsearched & {other for s in mended.steps for other in s.depends_on}


# --- checking -----------------------------------------------------------------------------------------------------


def test_the_write_ups_plan_passes_and_its_last_step_is_not_searched():
    found = [(f.code, f.step, f.fatal) for f in lint(parse_plan(TESLA))]
    assert found == [("not_referenced", "s3", False), ("synthesis", "s4", False)]
    assert [s.synthesis for s in completed(parse_plan(TESLA)).steps] == [False, False, False, True]
    assert groups(parse_plan(TESLA)) == (("s1",), ("s2", "s3"), ("s4",))


@pytest.mark.parametrize(
    ("steps", "finding"),
    [
        ((ONE, step("s1", "y")), ("duplicate_id", "s1", True)),
        ((step("a", "x", "b"),), ("unknown_id", "a", True)),
        ((ONE, step("s2", "x {s10}")), ("unknown_reference", "s2", True)),
        ((step("a", "x", "a"),), ("self_dependency", "a", False)),
        ((step("a", "x {a}", "a"),), ("self_dependency", "a", True)),
        ((step("a", "x {b}", "b"), step("b", "x {a}", "a")), ("cycle", "a", True)),
        ((ONE, step("s2", "x {s1}")), ("not_declared", "s2", False)),
        ((ONE, step("s2", "x", "s1")), ("not_referenced", "s2", False)),
        ((ONE, step("s2", "Where was that person born?")), ("anaphora", "s2", False)),
        ((step("a", "Films of the same year"),), ("anaphora", "a", True)),
        ((ONE, step("s2", "Compare {s1} and {s1}")), ("synthesis", "s2", False)),
        ((step("a", ""),), ("empty_query", "a", True)),
        ((step("a", "Synthesis"),), ("nothing_to_look_up", "a", True)),
    ],
)
def test_each_fault_has_its_finding(steps, finding):
    assert finding in codes(*steps)


def test_a_cycle_is_named_with_its_steps_in_order():
    plan = Plan((ONE, step("a", "{c}", "c"), step("b", "{a}", "a"), step("c", "{b}", "b"), step("d", "{a}", "a")))
    (found,) = [f for f in lint(plan) if f.code == "cycle"]
    assert "a -> c -> b -> a" in found.text
    assert "d" not in found.text.split(": ")[1]


def test_too_many_steps_and_too_wide_a_plan_are_refused():
    chain = [step(f"s{i}", f"{{s{i - 1}}}" if i else "x") for i in range(13)]
    assert ("too_many_steps", "", True) in codes(*chain)
    assert codes(*chain[:12]) == {("not_declared", f"s{i}", False) for i in range(1, 12)}
    beside = [step(f"s{i}", f"x {i}") for i in range(7)]
    assert codes(*beside) == {("too_wide", "", True)}
    assert codes(*beside[:6]) == codes(*beside, widest=7) == set()


@pytest.mark.parametrize(
    "query",
    [
        "Who is the king of France?",
        "Tesla and its competitors",
        "the city of Brenn",
        "Where was {s1}'s mother when he died?",
        "The It Girl cast",
    ],
)
def test_a_query_that_names_what_it_is_about_points_at_nothing(query):
    assert not plans.is_anaphoric(query)


@pytest.mark.parametrize(
    "query",
    [
        "that person's birthplace",
        "His wife",
        "Population of this city",
        "Who won in the same year?",
        "answer of the previous step",
    ],
)
def test_a_query_that_points_takes_the_answer_of_the_step_before(query):
    mended = completed(Plan((ONE, step("s2", query))))
    assert mended.steps[1].depends_on == ("s1",)
    assert resolved(mended.steps[1], {"s1": {"answer": "Brenn"}}) == f"{query} Brenn"


def test_a_step_that_others_need_or_that_looks_up_is_no_synthesis():
    for query, last in [
        ("Compare {s1}", False),
        ("Who combined {s1} and steel?", True),
        ("Comparison of Brenn and Orl", True),
    ]:
        assert not plans.is_synthesis(step("a", query), last)


def test_a_step_that_another_needs_is_looked_up_whatever_it_calls_itself():
    mended = completed(Plan((ONE, PlanStep("s2", "Compare", ("s1",), "", True), step("s3", "Who made {s2}?"))))
    assert [s.synthesis for s in mended.steps] == [False, False, False]


# --- references ---------------------------------------------------------------------------------------------------


def test_references_are_whole_ids_with_a_field_or_without():
    assert references("{s1} {s10} {s1.date} { s2 } {s1} {a b} {} {{x}} {s1.}") == (
        ("s1", ""),
        ("s10", ""),
        ("s1", "date"),
        ("s2", ""),
        ("x", ""),
    )


def test_a_query_is_resolved_once_and_other_braces_stay():
    answers = {"s1": {"answer": "{s2} here", "date": "1 May"}, "s2": {"answer": "Orl"}}
    assert (
        resolved(step("a", "{s1} {s1.date} {s1.place} {s10} {a b}"), answers) == "{s2} here 1 May {s2} here {s10} {a b}"
    )


def test_the_answer_of_a_dependency_that_is_not_named_is_appended():
    assert (
        resolved(step("a", "x {s2}", "s1", "s2"), {"s1": {"answer": "Brenn"}, "s2": {"answer": "Orl"}}) == "x Orl Brenn"
    )


def test_no_more_than_two_hundred_characters_of_an_answer_are_put_into_a_query():
    assert len(resolved(step("a", "{s1}"), {"s1": {"answer": "long " * 1000}})) <= 200


# --- views --------------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.builds(
            PlanStep,
            st.from_regex(r"[a-z]\w{0,3}", fullmatch=True),
            st.text(min_size=1).map(lambda s: " ".join(s.split()) or "x"),
            st.just(()),
            st.sampled_from(["", "Sum"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_json_is_read_back_as_it_was(steps):
    plan = Plan(tuple(steps))
    assert from_json(as_json(plan)) == plan


def test_a_diagram_holds_nothing_of_a_query_that_mermaid_could_take_for_its_own():
    drawn = mermaid(Plan((PlanStep("s1", 'x"]; click n0 "javascript:a" <b>`#%%{'), step("s2", "y", "s1"))))
    assert drawn.splitlines()[0] == "flowchart TD"
    assert drawn.splitlines()[-1] == "    n0 --> n1"
    inside = drawn.splitlines()[1].removeprefix('    n0["').removesuffix('"]')
    assert not set(inside) & set('"`<>[]{}%\n')
    assert "#34;" in inside


def test_the_outline_says_what_waits_for_what_and_the_estimate_counts_calls():
    plan = completed(parse_plan(TESLA))
    assert plans.text(plan).splitlines()[3] == "s4  Synthesis  (not searched; after s2, s3)"
    assert estimate(plan)[0] == 1 + 3 + 1 + 1
