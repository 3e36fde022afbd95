"""What came of a run.

A `RunResult` is what `run.json` says. Tables, JUnit and pages are made from it, right after the run or years later.
While the run lasts, `RunOutcome` adds what only its process has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.metrics.latency import SUMMARY_RANKS, percentile
from stowage_testbed.metrics.record import Metric, RunRecord
from stowage_testbed.metrics.state import (
    ClusterState,
    compute_utilisation,
    count_pods_per_node,
    hash_placement,
    list_placements,
)
from stowage_testbed.observe.change import CLOCK_NAME, RESOLUTION_S, Window
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.timeline import summarise_lags
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.checking import END, FAILED

FORMAT = "stowage.dev/run/v2"
RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True)
class Latency:
    """Created-to-bound latencies of the `n` pods whose two moments were both seen, in seconds.

    Two latencies differ if they do so by more than `resolution_s`: the spread of the watch's lag behind the audit log,
    and never less than a receipt's own resolution. `audit_lag_s` is the median of that lag, if anything was bound.
    A percentile with too small an `n` is ``None``, and `left_out` says why.
    """

    n: int
    what: str = "pod created to bound"
    clock: str = CLOCK_NAME
    resolution_s: float = RESOLUTION_S
    audit_lag_s: float | None = None
    percentiles_s: Mapping[str, float | None] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def make_latency(samples_s: Sequence[float], audit_lags_s: Sequence[float]) -> Latency:
    """Return the percentiles of one latency a pod; lags are watch receipt minus audit stamp of the same bindings."""
    lags = summarise_lags(audit_lags_s)
    found = {f"p{rank:g}": percentile(samples_s, rank) for rank in SUMMARY_RANKS}
    return Latency(
        n=len(samples_s),
        resolution_s=lags.resolution_s,
        audit_lag_s=lags.median_lag_s,
        percentiles_s={name: value for name, (value, _) in found.items()},
        left_out=tuple(reason for _, reason in found.values() if reason),
    )


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step that was begun, how long it took, and why it failed if it did.

    `facts` is what else is worth knowing, as in how many pods came late.
    """

    number: int
    kind: str
    line: int
    what: str
    duration_s: float
    facts: Mapping[str, float] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointResult:
    """Figures of a checkpoint, and of what led to it.

    Latency and duration are of the measured window, if it was closed since the checkpoint before; else of all since
    then. `is_planned` says whether an optimiser served, then or before.
    """

    name: str
    placed: int
    pending: int
    utilisation: Mapping[str, float]
    placement_hash: str
    placements: Mapping[str, tuple[str, ...]]
    pods_per_node: Mapping[str, int]
    latency: Latency
    duration_s: float
    is_planned: bool = False


def make_checkpoint(
    name: str, state: ClusterState, latency: Latency, duration_s: float, *, is_planned: bool
) -> CheckpointResult:
    """Return the figures of a state."""
    return CheckpointResult(
        name=name,
        placed=len(state.bound),
        pending=len(state.pending),
        utilisation={resource: float(share) for resource, share in compute_utilisation(state).items()},
        placement_hash=hash_placement(state),
        placements=list_placements(state),
        pods_per_node=count_pods_per_node(state),
        latency=latency,
        duration_s=duration_s,
        is_planned=is_planned,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """One scenario run once; `repeat` counts rounds from 1.

    Steps are those that were begun, checkpoints those that were reached. `error` says why the scenario could not be
    carried through, `skipped` what the cluster lacks that it needs. Durations of steps stand under the checkpoint that
    they led to.
    """

    scenario: str
    repeat: int
    variant: str | None = None
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    skipped: str = ""
    steps: tuple[StepRecord, ...] = ()
    checkpoints: tuple[CheckpointResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    metrics: tuple[Metric, ...] = ()
    plans: tuple[ObservedPlan, ...] = ()
    durations_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def scenario_id(self) -> str:
        """The scenario with its variant."""
        return f"{self.scenario}@{self.variant}" if self.variant else self.scenario

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def failures(self) -> list[str]:
        """The checks that did not hold, in a line each."""
        return [f"{check.name}: expected {check.expected}, found {check.actual}" for check in self.failed_checks]

    @property
    def passed(self) -> bool:
        """Whether the scenario was carried through, or skipped, and no check failed."""
        return not self.error and not self.failed_checks

    @property
    def is_planned(self) -> bool:
        """Whether plans could be made in it."""
        return any(one.is_planned for one in self.checkpoints)

    @property
    def moves(self) -> int:
        """Pods that changed their node, over all plans."""
        return sum(plan.moves for plan in self.plans if plan.executes)

    @property
    def evictions(self) -> int:
        """Pods that lost their node, over all plans."""
        return sum(plan.evictions for plan in self.plans if plan.executes)

    @property
    def optimal(self) -> bool | None:
        """Whether the last plan was proved optimal; ``None`` without a plan."""
        return self.plans[-1].optimal if self.plans else None

    def document(self) -> dict[str, Any]:
        """Return it as JSON values, with what follows from them."""
        plain = _write(self, ScenarioResult)
        for plan in plain["plans"]:
            # Only its cluster knows it by these.
            del plan["uid"], plan["created"]
        derived = ("passed", "moves", "evictions", "optimal")
        return plain | {name: getattr(self, name) for name in derived}


def _write(value: Any, kind: type[Any], **written: Any) -> dict[str, Any]:
    """Return the fields of a kind as JSON values, in their order; some are written already."""
    names = [one.name for one in fields(kind)]
    return {name: written[name] if name in written else msgspec.to_builtins(getattr(value, name)) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOutcome(ScenarioResult):
    """A result with what its process still has.

    `states` are pods and nodes at the checkpoints, by name. `window` and `record` are what was measured: ``None`` if no
    step said so, or it was not reached. `recovery` is of a service that was overloaded. `evidence` is what the
    scenario's `catch` names, by file name. `refused` says whether the API server does not take what is written.
    """

    source: Scenario
    states: Mapping[str, ClusterState] = field(default_factory=dict)
    window: Window | None = None
    record: RunRecord | None = None
    recovery: HpaRecord | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)
    refused: bool = False

    def checkpoint(self, name: str) -> CheckpointResult:
        """Return a checkpoint by its name; `StowageError` names those that were reached if it was not."""
        reached = {one.name: one for one in self.checkpoints}
        if name not in reached:
            known = ", ".join(reached) or "none"
            raise StowageError(f"checkpoint {name} was not reached; reached: {known}")
        return reached[name]

    def document(self) -> dict[str, Any]:
        """Return it as JSON values: evidence by its names only."""
        return ScenarioResult.document(self) | {
            "window": self.window and self.window.document(),
            "recovery": msgspec.to_builtins(self.recovery),
            "evidence": sorted(self.evidence),
        }


def make_outcome(scenario: Scenario, repeat: int, **more: Any) -> ScenarioOutcome:
    """Return the outcome of a scenario's round with the fields that are known."""
    return ScenarioOutcome(
        source=scenario,
        scenario=scenario.name,
        variant=scenario.variant,
        repeat=repeat,
        seed=scenario.instance.seed if scenario.instance else None,
        parameters=dict(scenario.parameters),
        **more,
    )


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two rounds of one scenario that did not place alike, and the first workload that differs."""

    scenario: str
    repeat: int
    workload: str
    first_nodes: tuple[str, ...]
    other_nodes: tuple[str, ...]
    first_hash: str = ""
    other_hash: str = ""

    def in_words(self) -> str:
        """Return what differs, in one line."""
        return (
            f"{self.scenario}: round {self.repeat} placed otherwise than round 1: "
            f"the first workload that differs is {self.workload}, "
            f"then on {', '.join(self.first_nodes) or 'no node'}, "
            f"now on {', '.join(self.other_nodes) or 'no node'} "
            f"(hashes {self.first_hash[:12]} and {self.other_hash[:12]})"
        )


def find_divergences(outcomes: Iterable[ScenarioOutcome]) -> tuple[Divergence, ...]:
    """Compare every round's first checkpoint with that of the scenario's first round.

    Only those that a file names, or has before it lets the optimiser pack: what a plan makes of them, and when a
    measured run ends, is not the same in every round.
    """
    first: dict[str, CheckpointResult] = {}
    found: list[Divergence] = []
    for outcome in outcomes:
        reached = next(iter(outcome.checkpoints), None)
        if reached is None or reached.is_planned or reached.name in {END, FAILED}:
            continue
        before = first.setdefault(outcome.scenario_id, reached)
        if before.placement_hash != reached.placement_hash:
            then, now = before.placements, reached.placements
            order = [one.name for one in outcome.source.workload]
            name = next((one for one in order if then.get(one) != now.get(one)), "")
            found.append(
                Divergence(
                    scenario=outcome.scenario_id,
                    repeat=outcome.repeat,
                    workload=name,
                    first_nodes=then.get(name, ()),
                    other_nodes=now.get(name, ()),
                    first_hash=before.placement_hash,
                    other_hash=reached.placement_hash,
                )
            )
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """All scenarios of a run, and whether their rounds agree.

    `error` says why a run ended early; the scenarios are then those that were finished. `environment` has versions and
    the machine.
    """

    run: str
    started: str
    cluster: str = ""
    error: str = ""
    durations_s: Mapping[str, float]
    environment: Mapping[str, Any] = field(default_factory=dict)
    scenarios: tuple[ScenarioResult, ...]
    divergences: tuple[Divergence, ...]

    @property
    def passed(self) -> bool:
        """Whether every scenario passed and all rounds placed alike."""
        return not self.error and not self.divergences and all(one.passed for one in self.scenarios)

    def document(self) -> dict[str, Any]:
        """Return it as JSON values, which `read_run` reads."""
        scenarios = [one.document() for one in self.scenarios]
        return {"format": FORMAT, "passed": self.passed, **_write(self, RunResult, scenarios=scenarios)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome(RunResult):
    """A run with what its process still has; `error_code` is what the command exits with for `error`."""

    scenarios: tuple[ScenarioOutcome, ...]
    error_code: int = 1


def read_run(folder: Path) -> RunResult:
    """Return the run of a results bundle; `InputError` if there is none, or it cannot be read."""
    path = folder / RUN_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} holds neither a run (run.json) nor a comparison (compare.json); "
            "name the folder that `stowage run` or `stowage compare` printed at its end"
        )
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        run = msgspec.convert(document, RunResult)
    except msgspec.MsgspecError as error:
        raise _make_error(path, str(error)) from error
    if document.get("format") != FORMAT:
        raise _make_error(path, f"format {document.get('format')!r}, this reads {FORMAT!r}")
    return run


def _make_error(path: Path, cause: str) -> InputError:
    return InputError(
        f"{path} cannot be read: {cause}; put it back as it was written, or run the scenarios again with this version"
    )
