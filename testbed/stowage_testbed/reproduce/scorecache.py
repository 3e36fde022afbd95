"""The evaluation of the score cache, seed 003: a burst, and recoveries, by five arms: `rebuild`.

Zhou, Mondal, Cheng, Kabir, "On Optimized Scheduling Scheme for Rapid Pod Autoscaling in Kubernetes". Its Tables 3
and 4 are in ``compare/published.yaml``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean

from stowage_testbed.compare.arms import choose_arms
from stowage_testbed.compare.arms.settings import ClientLimits
from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.page import write_report
from stowage_testbed.compare.request import EQUAL, CompareListener, CompareRequest, choose_scenario
from stowage_testbed.compare.session import compare
from stowage_testbed.compare.tables import CITATION, MISSING, TABLE_4, burst_table, direction_table
from stowage_testbed.reproduce.rebuilding import write_tables
from stowage_testbed.text.figure import Figure, at_most, figure
from stowage_testbed.text.tables import Table

BURST, RECOVERY, RECOVERY_FULL = "deployment-200", "recovery", "recovery-full"
FOLDER = "scorecache"
"""Of the tables, beside those of the comparisons."""

OURS = ("stowage", "stowage-score-cache")
SCHEDULERS = ("default", *OURS, "koordinator", "yunikorn")
NOT_SLOWER = ("t_sched_mean_s", "throughput_pods_per_s")
RATED = (*NOT_SLOWER, "scheduler_memory_peak_bytes", "ttr_s")

NAMES = ("ttr_s", "p99_peak_s", "p99_mean_s", "ok_rate", "t_ready_most_s")

HEADERS = (
    "scheduler", "runs", "TTR (s)", "TTR of default", "max p99 (s)", "mean p99 (s)", "OK rate", "most ready (s)",
)  # fmt: skip

_BURST_METRICS = (
    "placed_pods", "t_sched_mean_s", "t_sched_p99_s", "throughput_pods_per_s", "jain_pods",
    "scheduler_memory_peak_bytes", "scheduler_cpu_s",
)  # fmt: skip
_RECOVERY_METRICS = (
    "ttr_s", "recovered_runs", "t_capacity_s", "ok_rate", "t_sched_mean_s", "t_ready_mean_s",
    "scheduler_memory_peak_bytes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planned:
    """One scenario for all arms with equal client limits, if ``own`` also with their own, and its metrics."""

    name: str
    scenario: str
    rounds: int
    metrics: tuple[str, ...]
    variant: str | None = None
    own: bool = False


def planned(*, full: bool) -> tuple[Planned, ...]:
    """Return the two comparisons; in ``full`` with the paper's periods and length."""
    burst = Planned(BURST, "burst/deployment-200", 10 if full else 3, _BURST_METRICS, own=True)
    if full:
        return burst, Planned(RECOVERY_FULL, "hpa/recovery", 3, _RECOVERY_METRICS, variant="full")
    return burst, Planned(RECOVERY, "hpa/recovery", 2, _RECOVERY_METRICS)


def rebuild(
    comparisons: tuple[Planned, ...], scenarios: Path, results: Path, figures_file: Path, listener: CompareListener
) -> str:
    """Run or resume the comparisons in ``results``, write figures as JSON, and return what a terminal shows."""
    tables: list[Table] = []
    figures: list[Figure] = []
    for one in comparisons:
        listener.run_progress(f"comparison {one.name}")
        equal: Mapping[str, ClientLimits | None] = {"equal": EQUAL}
        request = CompareRequest(
            scenario=choose_scenario(one.scenario, scenarios, one.variant),
            arms=tuple(choose_arms(SCHEDULERS)),
            folder=results / one.name,
            rounds=one.rounds,
            limits={"own": None, **equal} if one.own else equal,
            allow_unfair=one.own,
        )
        comparison = compare(request, listener)
        write_report(comparison, request.folder)
        if one.name == BURST:
            tables += [make(comparison, kind) for kind in comparison.limits for make in (burst_table, direction_table)]
        else:
            tables.append(recovery_table(comparison))
        figures += comparison_figures(one, comparison)
    facts = {"scope": {one.name: one.rounds for one in comparisons}}
    return write_tables(results / FOLDER, figures_file, tables, figures, facts)


def comparison_figures(planned: Planned, comparison: Comparison) -> Iterator[Figure]:
    """Yield each arm's metrics, the changes from the baseline, and what became of an overloaded service."""
    failed = [float(bool(run.error)) for run in comparison.runs]
    note = "; ".join(f"{run.arm}: {run.error}" for run in comparison.runs if run.error)
    yield figure(f"{planned.name}: runs that failed", "runs", failed, sum, at_most(0), spread=False, note=note)
    for limits in comparison.limits:
        for arm, name in product(comparison.arm_names, planned.metrics):
            if metrics := comparison.metrics(limits, arm, name):
                values = comparison.values(limits, arm, name)
                yield figure(f"{planned.name}, {limits} limits: {arm}: {name}", metrics[0].unit, values, fmean)
        for arm, name in product(comparison.others, RATED):
            verdict = comparison.verdict(limits, arm, name)
            if verdict is None or verdict.estimate is None:
                continue
            wanted = arm in OURS and name in NOT_SLOWER
            yield Figure(
                f"{planned.name}, {limits} limits: {arm} over default: {name}",
                verdict.estimate,
                "x" if verdict.scale == "ratio" else verdict.unit,
                "not worse" if wanted else "",
                verdict.outcome != "worse" if wanted else None,
                verdict.rounds,
                tuple(end for end in (verdict.low, verdict.high) if end is not None),
                verdict.outcome,
            )
    found = defaultdict[tuple[str, str], Counter[str]](Counter)
    for record in comparison.records:
        if record.recovery is not None:
            found[record.arm, record.limits][record.recovery.recovery.outcome] += 1
    for (arm, limits), outcomes in found.items():
        total, note = outcomes.total(), ", ".join(sorted(f"{n} {outcome}" for outcome, n in outcomes.items()))
        yield Figure(f"{planned.name}, {limits} limits: {arm}: outcomes", float(total), "runs", runs=total, note=note)


def recovery_table(comparison: Comparison) -> Table:
    """Return time to recovery, and how the service fared, by scheduler and limits."""
    rows: list[tuple[str, ...]] = []
    for limits, arm in product(comparison.limits, comparison.arm_names):
        means = {name: fmean(values) if (values := comparison.values(limits, arm, name)) else None for name in NAMES}
        first = comparison.values(limits, comparison.baseline, "ttr_s")
        cells = _cells(means, fmean(first) if first else None)
        rows.append((f"{arm} ({limits} limits)", str(len(comparison.records_of(limits, arm))), *cells))
        if arm in TABLE_4:
            cells = _cells(TABLE_4[arm]["values"], TABLE_4["default"]["values"]["ttr_s"])
            rows.append((f"  paper: {TABLE_4[arm]['scheduler']}", "1", *cells))
    return Table(
        title="Recovery of an autoscaled service, beside the paper's Table 4",
        headers=HEADERS,
        rows=tuple(rows),
        notes=(
            f"Paper: {CITATION.replace('Table 3', 'Table 4')}; one run each, on GKE, 15 minutes of load and periods of "
            "15 to 30 s. Variant `full` has those periods; the default run has shorter ones, and its times are not to "
            "be held against the paper's, only the schedulers against each other.",
            "Fake nodes have no container start: what is left of a recovery is the "
            "autoscaler's, the scheduler's, and the model's of the service.",
        ),
    )


def _cells(values: Mapping[str, float | None], base: float | None) -> list[str]:
    digits = dict.fromkeys(NAMES, 3) | {"ttr_s": 0, "t_ready_most_s": 0}
    shown = [MISSING if values[name] is None else f"{values[name]:.{digits[name]}f}" for name in NAMES]
    ttr_s = values["ttr_s"]
    return [shown[0], MISSING if ttr_s is None or not base else f"x{ttr_s / base:.2f}", *shown[1:]]
