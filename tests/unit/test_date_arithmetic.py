"""Date arithmetic: what lies between dates, dates and durations, weekdays, ages, order."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ToolError
from sleuth.sources.date_arithmetic import DATES, age, between, worked_out


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (
            "days between 2 January 1837 and 31 March 1889",
            "19081 days (52 years, 2 months, 29 days), from 1837-01-02 to 1889-03-31",
        ),
        ("1889-03-31 - 1837-01-02", "19081 days (52 years, 2 months, 29 days), from 1837-01-02 to 1889-03-31"),
        ("from March 31, 1889 to April 1, 1889", "1 day, from 1889-03-31 to 1889-04-01"),
        ("1889-03-31 - 31 March 1889", "0 days, from 1889-03-31 to 1889-03-31"),
        ("1889 - 1837", "52 years by the years alone, from 1837 to 1889"),
        ("years between 1837 and 31 March 1889", "52 years by the years alone, from 1837 to 1889-03-31"),
        ("March 1889 to 2 May 1890", "1 year, 2 months by the months alone, from 1889-03 to 1890-05-02"),
        ("1900-02-28 to 1900-03-01", "1 day, from 1900-02-28 to 1900-03-01"),
        ("2000-02-28 to 2000-03-01", "2 days, from 2000-02-28 to 2000-03-01"),
    ],
)
def test_what_lies_between_is_counted_from_the_earlier(expression: str, result: str) -> None:
    assert worked_out(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1889-03-31 + 90 days", "1889-06-29"),
        ("1889-03-31 plus 2,000 days", "1894-09-21"),
        ("90 days after March 31, 1889", "1889-06-29"),
        ("90 days before March 31, 1889", "1888-12-31"),
        ("add two weeks? no: add 2 weeks to 1889-03-31", "1889-04-14"),
        ("subtract 90 days from 1889-03-31", "1888-12-31"),
        ("1889-03-31, 90 days later", "1889-06-29"),
        ("2 years and 3 months before 1889-03-31", "1886-12-31"),
        ("1889-03-31 - 2 years 3 months", "1886-12-31"),
        ("1889-03-31 + 1 year - 1 day", "1890-03-30"),
        ("31 January 2000 + a month", "2000-02-29"),
        ("31 January 1900 + one month", "1900-02-28"),
        ("2000-02-29 + 1 year", "2001-02-28"),
        ("1889 + 3 years", "1892"),
        ("10 decades after 1889", "1989"),
        ("March 1889 + 11 months", "1890-02"),
    ],
)
def test_a_date_and_a_duration(expression: str, result: str) -> None:
    assert worked_out(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("weekday of 31 March 1889", "Sunday (1889-03-31)"),
        ("what day of the week was July 20, 1969?", "Sunday (1969-07-20)"),
        ("age on 1889-03-31, born 1837-04-01", "51 years old on 1889-03-31, born 1837-04-01"),
        ("born 1837-03-31, age on 1889-03-31", "52 years old on 1889-03-31, born 1837-03-31"),
        ("age of someone born in 1837 on 1889-03-31", "51 or 52 years old on 1889-03-31, born 1837"),
        ("age in 1889 of someone born in 1837", "51 or 52 years old on 1889, born 1837"),
        ("born 2000-02-29, age on 2001-02-28", "0 years old on 2001-02-28, born 2000-02-29"),
        ("born 2000-02-29, age on 2001-03-01", "1 year old on 2001-03-01, born 2000-02-29"),
    ],
)
def test_weekdays_and_ages(expression: str, result: str) -> None:
    assert worked_out(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("which is earlier: 1890 or March 1889?", "1889-03 is earlier than 1890, by 1 year by the years alone"),
        ("1889-03-31 < 1889-04-01", "1889-03-31 is earlier than 1889-04-01, by 1 day"),
        ("is 1889 before 1889-03-31?", "neither can be told to be earlier: 1889 and 1889-03-31 overlap"),
        ("compare 1889-03-31 and 31 March 1889", "1889-03-31 and 1889-03-31 are the same"),
        ("earliest of 1900, 1889, 1950", "1889 is the earliest"),
        ("who is youngest: 1900, 1889 or 1950", "1950 is the latest"),
    ],
)
def test_which_is_earlier(expression: str, result: str) -> None:
    assert worked_out(expression) == result


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "no date in it.*Write dates as"),
        ("today", "no date in it"),
        ("1889-03-31", "nothing to do with it"),
        ("1889-03-31 90 days", "forward or back is not said"),
        ("from 1889-03-31 to 1890-01-01 + 3 days", "one date, and there are 2"),
        ("1889-03-31 + 1.5 years", "'1.5' is read neither"),
        ("1889-03-31 + 3", "'3' is read neither"),
        ("1889 + 3 days", "1889 is no day"),
        ("March 1889 + 3 days", "1889-03 is no day"),
        ("weekday of 1889", "has no weekday"),
        ("1889 + 9,000 years", "years 1 to 9999"),
        ("1889-03-31 - 9999999 days", "years 1 to 9999"),
        ("the 1880s - 1950", "too wide"),
        ("born 1900, age on 1850-01-01", "before the birth"),
        ("born 1900, age in 1950 and 1960", "takes two dates"),
        ("1889, 1890, 1891", "what to do with them"),
        ("earliest of 1889, 1889-03-31, 1900", "overlap"),
        ("x" * 501, "500 characters"),
        ("N D + 1889-03-31", "nothing to do"),
        ("90 days and 1889-03-31 + 3 days", "forward or back is not said"),
    ],
)
def test_what_cannot_be_told_is_said(expression: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        worked_out(expression)


DAYS = st.dates(date(1000, 1, 1), date(2099, 12, 31))


@given(DAYS, DAYS)
def test_years_months_and_days_lead_from_the_one_date_to_the_other(one: date, other: date) -> None:
    early, late = sorted((one, other))
    years, months, days = between(early, late)
    assert 0 <= months < 12
    assert 0 <= days < 31
    back = date.fromisoformat(worked_out(f"{early} + {years * 12 + months} months"))
    assert back + timedelta(days) == late


@given(DAYS, st.integers(0, 100_000))
def test_days_there_and_back(day: date, days: int) -> None:
    there = worked_out(f"{day} + {days} days")
    assert there == (day + timedelta(days)).isoformat()
    if there < "2100":
        assert worked_out(f"{days} days before {there}") == day.isoformat()
        assert worked_out(f"{day} - {there}").startswith(f"{days} day")


@given(DAYS, DAYS)
def test_an_age_grows_by_one_on_the_birthday(one: date, other: date) -> None:
    born, on = sorted((one, other))
    assert age(born, born) == 0
    assert age(born, on) - age(born, on - timedelta(1)) == (
        (on.month, on.day) == (born.month, born.day)
        or ((born.month, born.day) == (2, 29) and (on.month, on.day) == (3, 1) and on.year % 4 != 0)
        or ((born.month, born.day) == (2, 29) and (on.month, on.day) == (3, 1) and on.year % 100 == 0 != on.year % 400)
    )


@given(st.text(max_size=60) | st.text("D N0123456789-+, daysbeforage", max_size=60))
def test_any_text_gives_a_result_or_a_tool_error(text: str) -> None:
    try:
        told = worked_out(text)
    except ToolError as error:
        told = str(error)
    assert 0 < len(told) < 800


def test_the_tool_is_told_by_its_expression() -> None:
    assert DATES.name == "dates"
    assert "\n" not in DATES.spec.description
