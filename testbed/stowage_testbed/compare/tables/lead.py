"""The first sentence of a report: who is faster, by how much, how sure that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.compare.result import Result
from stowage_testbed.compare.tables.numbers import change_shown, estimate_shown, shown
from stowage_testbed.compare.verdicts.verdict import ArmVerdicts, Verdict

CALLED = ("better", "worse")

MEANINGS = {"t_sched_mean_s": "mean time to a node", "ttr_s": "time to recovery"}
"""Headlines that lead, in words."""

SURE = "at most 1 in 20 comparisons of a scheduler with itself would say so"


@dataclass(frozen=True, slots=True)
class Summary:
    """What is said of one arm under one kind of client limits."""

    arm: str
    limits: str
    text: str


def overview(result: Result) -> tuple[Summary, ...]:
    """Return a summary for each arm that is compared with the baseline."""
    return tuple(Summary(one.arm, one.limits, f"{lead_sentence(one)} {_rest(one)}".strip()) for one in result.verdicts)


def lead_sentence(judged: ArmVerdicts) -> str:
    """Return who is faster, by how much, and how sure it is."""
    if not judged.headlines:
        return f"{judged.arm} and {judged.baseline} have no whole round in common."
    leading = judged.headlines[0]
    rounds = f"{leading.rounds} round{'' if leading.rounds == 1 else 's'}"
    what = MEANINGS.get(leading.name, leading.name)
    if leading.outcome not in CALLED:
        return _say_undecided(judged, leading, what, rounds)
    if leading.scale == "ratio" and leading.unit == "s":
        return _say_faster(judged, leading, what, rounds)
    return (
        f"{judged.arm} is {leading.outcome} than {judged.baseline}: {what} {change_shown(leading)} ({rounds}; {SURE})."
    )


def _say_faster(judged: ArmVerdicts, leading: Verdict, what: str, rounds: str) -> str:
    estimate, low, high = leading.estimate or 1, leading.low or 1, leading.high or 1
    quick, slow = judged.arm, judged.baseline
    values = (leading.arm, leading.baseline)
    if leading.outcome == "better":
        estimate, low, high = 1 / estimate, 1 / high, 1 / low
    else:
        quick, slow, values = slow, quick, values[::-1]
    of_quick, of_slow = (shown(value) for value in values)
    return (
        f"{quick} is {estimate:.3g} times as fast as {slow} (between {low:.3g} and "
        f"{high:.3g} times): {what} {of_quick} s against {of_slow} s, {rounds}; {SURE}."
    )


def _say_undecided(judged: ArmVerdicts, leading: Verdict, what: str, rounds: str) -> str:
    if leading.outcome == "not judged" or leading.low is None:
        return f"Nothing is shown of {judged.arm} against {judged.baseline} by {rounds}: {what}: {leading.reason}."
    said = (
        f"Neither {judged.arm} nor {judged.baseline} is shown to be faster"
        if leading.unit == "s"
        else f"No difference of {judged.arm} from {judged.baseline} is shown"
    )
    return (
        f"{said} by {rounds}: {what} changes by {change_shown(leading)}; the intervals "
        "of all headlines hold together in 19 of 20 comparisons."
    )


def _rest(judged: ArmVerdicts) -> str:
    """Return what became of the other headlines."""
    others = judged.headlines[1:]
    parts = [
        f"{judged.arm} is {outcome} in {_name([one for one in others if one.outcome == outcome])}"
        for outcome in CALLED
        if any(one.outcome == outcome for one in others)
    ]
    quiet = [one.name for one in others if one.outcome not in CALLED]
    if quiet:
        parts.append(f"no difference is shown in {', '.join(quiet)}")
    return f"Of the other headlines: {'; '.join(parts)}." if parts else ""


def _name(verdicts: Iterable[Verdict]) -> str:
    return ", ".join(f"{one.name} {estimate_shown(one)}" for one in verdicts)
