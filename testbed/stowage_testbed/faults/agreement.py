"""Random plans for both verifiers, as a part of the reliability figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stowage_testbed.agreement import agreement
from stowage_testbed.faults.journal import build_mark
from stowage_testbed.text.figure import Figure, at_least, at_most, figure
from stowage_testbed.whole_file import write_whole

PLANS = 10_000
_PREFIX = "agreement"

Counts = Mapping[str, Any]
"""What `stowage_testbed.agreement.tally.Agreement.figures` returns."""


def compare_random_plans(folder: Path, seed: int, plans: int) -> None:
    """Verify random plans and keep the counts in the folder, one file a seed."""
    counts = agreement(seed, plans).figures()
    path = folder / f"{_PREFIX}-{build_mark()}-{seed}.json"
    write_whole(path, json.dumps(counts, indent=1) + "\n")


def earlier_counts(folder: Path) -> list[Counts]:
    """Return the counts of every seed, for the scheduler and optimiser of now."""
    files = sorted(folder.glob(f"{_PREFIX}-{build_mark()}-*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def agreement_figures(known: Sequence[Counts]) -> Iterator[Figure]:
    """Yield how many plans were verified, and how many differences are unexplained."""
    name = "Go replay and Python's verify"
    plans = [float(counts["plans"]) for counts in known]
    yield figure(
        f"{name}: plans judged", "plans", plans, sum, at_least(PLANS), spread=False
    )
    apart = [float(sum(counts["explained"].values())) for counts in known]
    yield figure(
        f"{name}: apart for a known reason", "plans", apart, sum, spread=False,
        note=", ".join(sorted({why for one in known for why in one["explained"]})),
    )  # fmt: skip
    unexplained = [float(counts["unexplained"]) for counts in known]
    yield figure(
        f"{name}: apart for no known reason", "plans", unexplained, sum, at_most(0),
        spread=False,
    )  # fmt: skip
