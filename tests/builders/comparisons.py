"""Comparisons for tests of their bundle, tables and pages."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from stowage_testbed.compare.arms.settings import ArmSettings
from stowage_testbed.compare.comparison import ArmEntry, Bundle, Comparison, PreflightRow, ScenarioText, sha256_of
from stowage_testbed.compare.speed import Speed
from stowage_testbed.metrics.record import RunRecord

SETTINGS = ArmSettings("1.36.3", 50.0, 100, 16, None, {"OpportunisticBatching": True})
SPEED = Speed({"encode": 2000.0, "hash": 9000.0}, cpus=2)


def a_comparison(
    arms: Sequence[str] = ("default", "stowage"),
    *,
    limits: Sequence[str] = ("own",),
    rounds: int = 3,
    speed: Speed | None = SPEED,
) -> Comparison:
    """Return a comparison whose first arm is the baseline."""
    text = "name: burst/deployment-200\n"
    return Comparison(
        scenario=ScenarioText("burst/deployment-200", text, sha256_of(text)),
        started="2026-01-02T03:04:05+00:00",
        baseline=arms[0],
        arms=tuple(ArmEntry(name, dict.fromkeys(limits, SETTINGS)) for name in arms),
        limits=tuple(limits),
        rounds=rounds,
        seed=1,
        environment={"machine": {"cpus": 2}, "source": {"commit": "abc"}},
        preflight=(
            PreflightRow("own", "QPS", {arms[0]: "50", arms[-1]: "100"}, False),
            PreflightRow("own", "parallelism", dict.fromkeys(arms, "16"), True),
        ),
        speed=speed,
    )


def a_result(records: Iterable[RunRecord], comparison: Comparison | None = None) -> Comparison:
    """Return what a finished comparison of these runs gives."""
    kept = tuple(records)
    arms = tuple(dict.fromkeys(record.arm for record in kept))
    limits = tuple(dict.fromkeys(record.limits for record in kept))
    about = comparison or a_comparison(arms, limits=limits)
    return replace(about, records=kept, complete=True)


def write_bundle(folder: Path, records: Sequence[RunRecord], comparison: Comparison | None = None) -> Path:
    """Write the folder of a finished comparison and return it."""
    begun = replace(a_result(records, comparison), records=(), complete=False)
    bundle = Bundle.create(folder, begun)
    for record in records:
        bundle.add(record)
    bundle.finish()
    return folder
