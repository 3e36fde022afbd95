"""`reliability.json`: every figure of the faults, and the tries that failed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.environment import environment
from stowage_testbed.faults.agreement import agreement_figures, earlier_counts
from stowage_testbed.faults.figures import churn_curve, reliability_figures
from stowage_testbed.faults.trial import Trial
from stowage_testbed.text.figure import table
from stowage_testbed.whole_file import write_whole

NAME = "reliability"


def write_results(results: Path, trials: Sequence[Trial]) -> str:
    """Write ``<results>/reliability.json`` and return the figures as a table.

    Plans that were verified before, in the same folder, are part of it.
    """
    counts = earlier_counts(results / NAME)
    figures = [*reliability_figures(trials), *agreement_figures(counts)]
    document = {
        "environment": environment(),
        "figures": [one.document() for one in figures],
        "churn": churn_curve(trials),
        "agreement": counts,
        "seeds": sorted({trial.seed for trial in trials}),
        "failed": [trial.document() for trial in trials if not trial.passed],
        "missed": sum(not trial.struck for trial in trials),
    }
    path = results / f"{NAME}.json"
    write_whole(path, json.dumps(document, indent=1) + "\n")
    return f"{table(figures)}\n\nfigures: {path}"
