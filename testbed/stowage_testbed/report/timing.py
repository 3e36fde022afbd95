"""Where a run's time went, in one line."""

from __future__ import annotations

from stowage_testbed.run.outcome import RunOutcome


def timing_line(outcome: RunOutcome) -> str:
    """Return the seconds of the run and, summed over scenarios, of each step."""
    steps: dict[str, float] = {}
    for item in outcome.outcomes:
        for name, seconds in (item.durations_s or {}).items():
            steps[name] = steps.get(name, 0.0) + seconds
    total = sum(outcome.durations_s.values())
    parts = ", ".join(_part(item) for item in outcome.durations_s.items())
    if not steps:
        return f"{total:.1f} s: {parts or 'nothing was started'}"
    inside = ", ".join(_part(item) for item in steps.items())
    return f"{total:.1f} s: {parts} (of it {inside})"


def _part(item: tuple[str, float]) -> str:
    return f"{item[0]} {item[1]:.1f} s"
