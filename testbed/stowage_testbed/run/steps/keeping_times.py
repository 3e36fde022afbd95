"""How a step does things at their times, and what it notes of how well it did."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.base.errors import StowageError
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.pacing import Due, Pacer, Pacing


def pace(context: StepContext, dues: Iterable[Due]) -> Pacing:
    """Do everything at its time, within the lateness that the step allows."""
    allowed_s = context.timeout_s()

    def too_late(what: str, late_s: float) -> StowageError:
        return StowageError(
            f"{what} was {late_s:.1f} s late, {allowed_s:g} s are allowed: the API "
            "server does not keep up; lower the rate or the speed, or raise the "
            "deadline of the step under `timeouts`"
        )

    return Pacer(context.run.observer.clock, allowed_s, too_late).run(dues)


def note_lateness(context: StepContext, pacing: Pacing) -> None:
    """Note how much came late, and say so if anything did."""
    context.facts |= {"late": pacing.late, "latest_s": round(pacing.latest_s, 3)}
    if pacing.late:
        context.recorder.report(f"{pacing.late} of {pacing.done} came late, by {pacing.latest_s:.2f} s at most")
