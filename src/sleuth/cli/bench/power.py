"""``sleuth bench power``: before anything is asked, what so many questions can show, and what the rest of a bench costs."""

from __future__ import annotations

import math
from typing import Annotated, Any

from cyclopts import App, Parameter

from sleuth.cli.screen import Output, put, put_json, stdout, whole
from sleuth.errors import BadInput

EXAMPLE = """\
Examples:
  sleuth bench power --questions 50
  sleuth bench power --difference 0.1 --discordant 0.3
  sleuth bench power --questions 50 --sd 0.4"""


def add_to(app: App) -> None:
    """Make `power` a command of `sleuth bench`."""
    app.command(power, help_epilogue=EXAMPLE)


def power(
    questions: Annotated[int | None, Parameter(help="So many questions: which difference?", converter=whole)] = None,
    difference: Annotated[float | None, Parameter(help="This difference (0 to 1): how many questions?")] = None,
    discordant: Annotated[
        float | None, Parameter(help="Of right or wrong: share that one of the two gets right and the other not.")
    ] = None,
    sd: Annotated[float | None, Parameter(help="Of a mean (F1): standard deviation of the paired differences.")] = None,
    often: Annotated[float, Parameter(help="How often it is to be shown where it is there.")] = 0.8,
    methods: Annotated[int, Parameter(help="So many methods are compared, each with each.", converter=whole)] = 2,
    output: Output = Output(),  # noqa: B008  a frozen value
) -> None:
    """Tell the smallest difference that so many questions show, or how many questions a difference needs."""
    from sleuth.bench import power as numbers
    from sleuth.bench.statistics import ALPHA

    if (questions is None) == (difference is None):
        raise BadInput(
            "Give --questions or --difference, one of the two.", hint="Try: sleuth bench power --questions 50"
        )
    if questions is not None and questions < 1:
        raise BadInput(f"{questions} questions are none.", hint="Give a number from 1 up.")
    if difference is not None and sd is None and abs(difference) > 1:
        raise BadInput(
            f"Shares cannot differ by {difference:g}.", hint="Give a share, from 0 to 1: 10 points are --difference 0.1"
        )
    if methods < 2:
        raise BadInput("A difference is between two methods or more.", hint="Leave --methods out, or give 2 or more.")
    pairs = methods * (methods - 1) // 2
    found: dict[str, Any] = {"power": often, "alpha": ALPHA / pairs, "pairs": pairs}
    try:
        if questions is not None:
            least = numbers.smallest_difference(
                questions, discordant=discordant, sd=sd, power=often, alpha=ALPHA / pairs
            )
            found |= {"questions": questions, "difference": least if math.isfinite(least) else None}
        elif difference is not None:
            needed = numbers.needed(difference, discordant=discordant, sd=sd, power=often, alpha=ALPHA / pairs)
            found |= {"questions": needed, "difference": difference}
    except ValueError as fault:
        raise BadInput(str(fault), hint="Try: sleuth bench power --questions 50") from fault
    if output.json:
        put_json(found)
        return
    least = found["difference"]
    what = "no difference" if least is None else f"a difference of {100 * least:.1f} points"
    put(
        stdout(),
        f"{found['questions']:,} {'question shows' if found['questions'] == 1 else 'questions show'} {what} {100 * often:.0f} times in 100.",
    )
    if discordant is None and sd is None:
        put(
            stdout(),
            "Taken for granted: two methods that have nothing in common. Over the same passages they differ less: "
            "give --discordant or --sd from a pilot.",
        )
