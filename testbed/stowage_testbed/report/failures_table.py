"""What went wrong, and what was expected instead."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from stowage_testbed.report.limits import MOST_LINES, first_lines, left_out, shortened
from stowage_testbed.run.outcome import RunOutcome

WIDTH = 60


def failures_table(outcome: RunOutcome) -> str:
    """Return failed checks, errors and divergences; empty if there are none."""
    parts = [_failed_checks(outcome), *_errors(outcome)]
    return "\n\n".join(part for part in parts if part)


def _failed_checks(outcome: RunOutcome) -> str:
    failed = [
        (item, check) for item in outcome.outcomes for check in item.failed_checks
    ]
    rows = [
        [
            f"{item.scenario.scenario_id} #{item.repeat}",
            check.name,
            _wrapped(check.expected),
            _wrapped(check.actual),
        ]
        for item, check in failed[:MOST_LINES]
    ]
    if not rows:
        return ""
    headers = ("failed", "check", "expected", "actual")
    table = tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True)
    return "\n".join(filter(None, (table, left_out(len(failed)))))


def _errors(outcome: RunOutcome) -> list[str]:
    lines = [
        f"{item.scenario.scenario_id} #{item.repeat}: {item.error}"
        for item in outcome.outcomes
        if item.error
    ]
    lines += [divergence.in_words() for divergence in outcome.divergences]
    if outcome.error:
        lines.append(f"the run ended early: {outcome.error}")
    return first_lines(lines)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(shortened(text), WIDTH))
