"""What is shown on the screen when a run is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stowage_testbed.report.failures_table import failures_table
from stowage_testbed.report.lateness import lateness_note
from stowage_testbed.report.placement_table import placement_table
from stowage_testbed.report.summary_table import summary_note, summary_table
from stowage_testbed.report.timing import timing_line
from stowage_testbed.run.outcome import RunOutcome


def screen(outcome: RunOutcome, folder: Path) -> str:
    """Return placements, summary, failures, time, and the bundle's folder."""
    return "\n\n".join(_parts(outcome, folder))


def _parts(outcome: RunOutcome, folder: Path) -> Iterator[str]:
    for item in outcome.outcomes:
        # Later rounds must place alike; if one does not, the failures show it.
        table = placement_table(item) if item.repeat == 1 else ""
        if table:
            yield table
    if outcome.outcomes:
        yield summary_table(outcome.outcomes)
        yield summary_note(outcome)
    late = lateness_note(outcome.outcomes)
    if late:
        yield late
    failures = failures_table(outcome)
    if failures:
        yield failures
    yield _verdict(outcome, folder)


def _verdict(outcome: RunOutcome, folder: Path) -> str:
    passed = sum(item.passed for item in outcome.outcomes)
    skipped = sum(bool(item.skipped) for item in outcome.outcomes)
    verdict = "passed" if outcome.passed else "FAILED"
    runs = len(outcome.outcomes) - skipped
    beside = f", {skipped} skipped," if skipped else ""
    return (
        f"{verdict}: {passed - skipped} of {runs} scenario runs passed{beside} "
        f"in {timing_line(outcome)}\nresults: {folder}"
    )
