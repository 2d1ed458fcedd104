"""Whatever guards are chosen, a strategy keeps its stated bound, and an answer is what its guards allow."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.test_bounds import FINDS, QUESTIONS, REPLIES, run

from sleuth.strategies import TABLE
from sleuth.types import Guards

GUARDS = st.builds(
    Guards,
    confidence=st.sampled_from([None, 0.0, 0.8]),
    confidence_by=st.sampled_from(["logprob", "asked"]),
    fallback=st.sampled_from(["off", "feedback", "model"]),
    compress=st.sampled_from([0, 20, 200]),
    repeats=st.sampled_from(["off", "exact", "near"]),
    citations=st.sampled_from(["off", "mark", "abstain"]),
    judge=st.booleans(),
    own=st.booleans(),
)


@pytest.mark.parametrize("name", TABLE)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_guards_make_more_calls_than_the_strategy_states(name, data):
    strategy = TABLE[name]
    guards = data.draw(GUARDS)
    params = {**strategy.settings[data.draw(st.sampled_from(list(strategy.settings)))], "guards": guards}
    flow = strategy.flow(data.draw(st.sampled_from(QUESTIONS)), **params)
    ran = run(flow, data.draw(REPLIES), data.draw(FINDS))
    answer = ran.answer
    assert ran.calls <= strategy.most_calls(params)
    assert (answer.status == "answered") == bool(answer.text)
    assert answer.grounded is None or guards.citations != "off"
    assert answer.grounded is not False or answer.status != "answered" or guards.citations == "mark"
    assert (answer.ended == "ungrounded") <= (guards.citations == "abstain")
