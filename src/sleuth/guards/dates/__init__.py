"""Dates and intervals in text, and questions about who held what when: the parts that strategies and sources use."""

from __future__ import annotations

from sleuth.guards.dates.clauses import (
    asked_moment,
    event_of,
    is_time_question,
    moment_for,
    role_of,
    spoken,
    when_question,
)
from sleuth.guards.dates.holding import holds, offices, overlap
from sleuth.guards.dates.interval import Interval, intervals
from sleuth.guards.dates.moment import Moment, Precision, iso, moments, parse

__all__ = [
    "Interval",
    "Moment",
    "Precision",
    "asked_moment",
    "event_of",
    "holds",
    "intervals",
    "is_time_question",
    "iso",
    "moment_for",
    "moments",
    "offices",
    "overlap",
    "parse",
    "role_of",
    "spoken",
    "when_question",
]
