"""Figures of a scenario run as the cells of a table, on the screen and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NOTHING = "-"
HASH_SHOWN = 10


def counts_cell(counts: Iterable[int]) -> str:
    """Return one count a phase, as in ``2 → 3``."""
    return " → ".join(str(count) for count in counts) or NOTHING


def shares_cell(shares: Sequence[float]) -> str:
    """Return the first and last share in percent, and what came on top."""
    if not shares:
        return NOTHING
    first, last = shares[0] * 100, shares[-1] * 100
    if len(shares) == 1:
        return f"{first:.1f}"
    return f"{first:.1f} → {last:.1f} ({last - first:+.1f})"


def optimal_cell(optimal: bool | None) -> str:
    """Return whether the last plan was proved optimal."""
    return {True: "yes", False: "no", None: NOTHING}[optimal]


def hashes_cell(hashes: Iterable[str]) -> str:
    """Return the beginning of the rounds' one hash, or how many there are."""
    different = set(hashes)
    if len(different) > 1:
        return f"{len(different)} differ"
    return next(iter(different), NOTHING)[:HASH_SHOWN]


def result_cell(error: str, failed_checks: int) -> str:
    """Return the verdict on one round."""
    if error:
        return "ERROR"
    return f"FAILED ({failed_checks})" if failed_checks else "passed"


def rounds_cell(passed: Iterable[bool]) -> str:
    """Return how many rounds of several passed; empty if there was only one."""
    rounds = list(passed)
    return f" {sum(rounds)}/{len(rounds)}" if len(rounds) > 1 else ""
