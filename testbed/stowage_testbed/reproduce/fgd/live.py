"""A list of the trace on a real cluster with fake nodes: its pods arrive, and one plan moves a few of them.

Nothing looks after pods of the trace, so that one that is evicted would be lost. Once all have been tried, a ReplicaSet
for each class adopts its pods.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from math import inf
from pathlib import Path
from statistics import fmean

import numpy as np

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.cluster.node_pool import annotate_fake, is_schedulable
from stowage_testbed.metrics.footprint import FootprintMeter
from stowage_testbed.observe.audit import AuditMark, find_audit_end, read_audit_entries
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.condition import ConditionResult, condition, plan_finished, pods_decided
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.observe.state import State
from stowage_testbed.observe.timeline import measure_binding_lags_s, read_pod_timelines
from stowage_testbed.reproduce.fgd.cluster import (
    CLAIM_TEMPLATE,
    make_class,
    make_nodes,
    make_pods,
    make_slices,
    make_templates,
    place_by_scheduler,
)
from stowage_testbed.reproduce.fgd.evaluation import PROFILE_LIMIT_S
from stowage_testbed.reproduce.fgd.moves import LIMIT_S, NAMESPACE, NODE, FleetState
from stowage_testbed.reproduce.fgd.simulation import NOWHERE
from stowage_testbed.reproduce.fgd.trace import GPU_NODES, TraceNode, read_nodes, read_pods
from stowage_testbed.reproduce.fgd.workload import FIRST_SEED, Fleet, PodList, arrivals
from stowage_testbed.reproduce.rebuilding import write_tables
from stowage_testbed.reproduce.sweep import lock_folder
from stowage_testbed.run.cluster import open_context
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.environment import make_namespace
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.outcome import Latency, make_latency
from stowage_testbed.run.release import Serving, Wanted, switch_release
from stowage_testbed.run.request import RunRequest
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.steps.context import await_account
from stowage_testbed.scenario.steps.pacing import Due, Pacer
from stowage_testbed.scenario.steps.releasing import make_manual_plan
from stowage_testbed.simulate.instance import NO_PROTECTION
from stowage_testbed.simulate.process import Simulator, find_profile
from stowage_testbed.text.figure import Figure, at_least, at_most, figure
from stowage_testbed.text.tables import Table

PROFILE = "optimizer"
PLAN = "moves"
CLASS_LABEL = "stowage.dev/class"
MIB = 2**20
FLEET_UP_S = 60.0
EXECUTE_BASE_S, EXECUTE_PER_MOVE_S = 120.0, 2.0
"""A replacement is there in a tenth of that."""

DONE = frozenset({"Bound", "NotNeeded"})
"""States of moves that nothing is left to do for."""

FIGURES = "live.json"


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A list of pods on a cluster.

    Parameters
    ----------
    share
        Of the trace's nodes, evenly over their kinds; as many fewer pods arrive.
    load
        What the pods ask for, in percent of the GPUs.
    most_percent
        Of the pods that arrive, how many may move.
    """

    pods: str
    share: float = 1.0
    load: float = 98.0
    most_percent: float = 3.0
    limit_s: float = LIMIT_S

    @property
    def id(self) -> str:
        """Its name in a journal."""
        fleet = f"{self.pods} at {self.load:g} % of {self.share:g} of the nodes"
        return f"{fleet}, {self.most_percent:g} % moved in {self.limit_s:g} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlan:
    """What came of the plan; moves are by the state that it gives them, the same with replacements on other nodes.

    ``lost`` are pods that ran before and have no successor that runs; ``where`` says of each move from where to where.
    """

    phase: str
    end_reason: str
    message: str
    solve_s: float
    took_s: float
    most_moves: int
    placements: int
    moves: Mapping[str, int]
    lost: int
    where: tuple[str, ...]
    refusals: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SimulatedRow:
    """What the stock scheduler allocates of all GPUs in a simulation, in percent."""

    allocated: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRow:
    """What a list came to on a cluster; allocations are in percent of all GPUs, as is that of its simulation."""

    request: LiveRequest
    nodes: int
    gpus: int
    arrived: int
    cluster_s: float
    fleet_s: float
    decided_s: float
    adopted_s: float
    placed: int
    latency: Latency
    simulated: float
    before: float
    after: float
    placed_after: int
    plan: LivePlan
    requests: Mapping[str, int]
    peak_mib: Mapping[str, float]

    @property
    def undone(self) -> int:
        """Return how many moves were not carried out, although they were needed."""
        return sum(count for state, count in self.plan.moves.items() if state not in DONE)


def run_live(folder: Path, request: LiveRequest, path: Path, listener: Listener) -> LiveRow:
    """Run the list on a cluster of its own, unless ``path`` has it already, and return what it came to.

    Raises
    ------
    InputError
        The folder does not have the list.
    StowageError
        The cluster did not come up, or pods were not tried in time.
    """
    fleet = Fleet.of(evenly(read_nodes(folder, GPU_NODES), request.share))
    pods = PodList.of(request.pods, read_pods(folder, request.pods), fleet)
    arrived, nodes = arrivals(pods, fleet, FIRST_SEED)
    nowhere = np.full(len(arrived), NOWHERE, np.int64)
    state = FleetState(pods, fleet, nodes, arrived, nowhere, np.zeros(len(arrived), np.int64)).at(request.load)
    with lock_folder(path):
        journal = TaskJournal(path / "live.jsonl", LiveRow)
        simulations = TaskJournal(path / "simulated.jsonl", SimulatedRow)
        if request.id not in journal:
            asked, stopwatch = RunRequest((), folders=(path,)), Stopwatch()
            with open_context(asked, secrets.token_hex(2), listener, stopwatch) as context:
                journal.add(request.id, (LiveRun(context, request, state, listener, stopwatch).carry_out(),))
        if request.id not in simulations:
            listener.run_progress("simulation of the same list")
            simulations.add(request.id, (SimulatedRow(simulate_list(state)),))
        return replace(journal.get(request.id)[0], simulated=simulations.get(request.id)[0].allocated)


def evenly(nodes: Sequence[TraceNode], share: float) -> list[TraceNode]:
    """Return a share of the nodes, at least one, spread over their order, in which like ones stand together."""
    count = max(1, round(share * len(nodes)))
    return [nodes[number * len(nodes) // count] for number in range(count)]


def simulate_list(state: FleetState) -> float:
    """Return what the stock scheduler allocates in a simulation."""
    with Simulator(find_profile("default"), timeout_s=PROFILE_LIMIT_S) as simulator:
        end = place_by_scheduler(state.pods, state.fleet, state.nodes, state.arrived, simulator)
    return end.allocated(end.node)


@dataclass(slots=True)
class LiveRun:
    """Carries a request out on a cluster that is up and empty."""

    context: RunContext
    request: LiveRequest
    state: FleetState
    listener: Listener
    stopwatch: Stopwatch

    def carry_out(self) -> LiveRow:
        """Make the fleet, have the pods arrive, and carry a plan out."""
        context, most_moves = self.context, int(len(self.state.arrived) * self.request.most_percent / 100)
        audit_start = find_audit_end(context.cluster.audit_log)
        with self._step("fleet up"):
            self._make_fleet()
        with self._step("scheduler up"):
            serving = self._serve(most_moves)
            context.observer.watch(PACKING_PLANS)
        meters = {name: FootprintMeter([pid]) for name, pid in serving.release.process_ids().items()}
        context.observer.restart_journal()
        with self._step("pods tried"):
            self._arrive()
        latency = self._latency(audit_start)
        with self._step("pods adopted"):
            self._adopt()
        before = self._placed()
        with self._step("plan"):
            plan = self._plan(before, most_moves)
        after = self._placed()
        entries = read_audit_entries(context.cluster.audit_log, audit_start)
        requests = Counter(f"{one.verb} {one.resource}/{one.subresource}".removesuffix("/") for one in entries)
        peaks = ((name, meter.read().peak_memory_bytes) for name, meter in meters.items())
        took_s = self.stopwatch.durations_s
        return LiveRow(
            request=self.request,
            nodes=len(self.state.nodes.gpus),
            gpus=int(self.state.nodes.gpus.sum()),
            arrived=len(self.state.arrived),
            cluster_s=took_s["cluster up"],
            fleet_s=took_s["fleet up"],
            decided_s=took_s["pods tried"],
            adopted_s=took_s["pods adopted"],
            placed=before.total(),
            latency=latency,
            simulated=0.0,
            before=self._allocated(before),
            after=self._allocated(after),
            placed_after=after.total(),
            plan=plan,
            requests=dict(requests.most_common()),
            peak_mib={name: peak / MIB for name, peak in peaks if peak is not None},
        )

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        self.listener.run_progress(f"{self.request.id}: {name}")
        with self.stopwatch.step(name):
            yield
        self.listener.run_progress(f"{self.request.id}: {name} took {self.stopwatch.durations_s[name]:.1f} s")

    def _make_fleet(self) -> None:
        fleet, nodes = self.state.fleet, self.state.nodes
        manifests = list(make_nodes(nodes))
        for one in manifests:
            name = one["metadata"]["name"]
            one["metadata"] |= {"annotations": annotate_fake(name), "labels": {"kubernetes.io/hostname": name}}
        self._create(chain(manifests, [make_class()], make_slices(fleet, nodes)))
        ready, timeout_s = nodes_ready(len(manifests)), timeouts.nodes_s(len(manifests))
        self.context.observer.wait_for("the nodes to be ready", ready, timeout_s=timeout_s)

    def _serve(self, most_moves: int) -> Serving:
        """Install the release, and what pods need before they come."""
        make_namespace(self.context, NAMESPACE)
        await_account(self.context.observer, NAMESPACE)
        templates, count = make_templates(self.state.pods, self.state.fleet), self._count()
        self._create(one for one in templates if _class_of(one) in count)
        limits = {"maxMoves": max(1, most_moves), "maxUnavailablePerWorkload": 0}
        timeout_s = EXECUTE_BASE_S + EXECUTE_PER_MOVE_S * most_moves
        settings = {"trigger": "Manual", "planTimeoutSeconds": int(timeout_s), "limits": limits, **NO_PROTECTION}
        wanted = Wanted(PROFILE, optimizer_enabled=True, values={"priorityOptimizer": settings})
        return switch_release(self.context, wanted)

    def _arrive(self) -> None:
        self._create(_labelled(one, of) for one, of in zip(self._pods(), self.state.arrived.tolist(), strict=True))
        count = len(self.state.arrived)
        timeout_s = timeouts.SETTLE_BASE_S + timeouts.SETTLE_PER_POD_S * count
        decided = pods_decided(NAMESPACE, count)
        self.context.observer.wait_for("every pod to be tried", decided, timeout_s=timeout_s)

    def _adopt(self) -> None:
        """Create a ReplicaSet for each class, as large as it is: none has to make a pod."""
        templates = dict(zip(self.state.arrived.tolist(), self._pods(), strict=True))
        self._create(_replica_set(of, count, templates[of]) for of, count in self._count().items())
        count = len(self.state.arrived)
        timeout_s = timeouts.SETTLE_BASE_S + timeouts.SETTLE_PER_POD_S * count
        self.context.observer.wait_for("every pod to be adopted", adopted(count), timeout_s=timeout_s)

    def _plan(self, before: Counter[int], most_moves: int) -> LivePlan:
        context, observer = self.context, self.context.observer
        began = observer.clock.now()
        context.objects.create(make_manual_plan({"name": PLAN}, time_limit_s=self.request.limit_s, maximize="Devices"))
        timeout_s = EXECUTE_BASE_S + self.request.limit_s + EXECUTE_PER_MOVE_S * most_moves
        observer.wait_for(f"the plan {PLAN} to finish", plan_finished(PLAN), timeout_s=timeout_s)
        took_s = observer.clock.now().seconds_since(began)
        decided = pods_decided(NAMESPACE, len(self.state.arrived))
        observer.wait_for("every pod to be tried again", decided, timeout_s=timeouts.SETTLE_BASE_S)
        (plan,) = observer.read(lambda state: state.plans())
        status = context.objects.read("PackingPlan", PLAN)["status"]
        moves = status.get("moves") or []
        return LivePlan(
            phase=plan.phase,
            end_reason=plan.end_reason,
            message=plan.message,
            solve_s=plan.solve_s,
            took_s=took_s,
            most_moves=most_moves,
            placements=plan.placements,
            moves=Counter(one.get("state", "") for one in moves),
            lost=(before - self._placed()).total(),
            where=tuple(f"{one['pod']}: {one['fromNode']} to {one['toNode']}" for one in moves),
            refusals=Counter(f"{one['reason']}" for one in status.get("refusals") or []),
        )

    def _pods(self) -> Iterator[Manifest]:
        return make_pods(self.state.pods, self.state.arrived)

    def _count(self) -> Counter[int]:
        return Counter(self.state.arrived.tolist())

    def _placed(self) -> Counter[int]:
        """Return how many pods of each class have a node."""
        pods = self.context.observer.read(lambda state: state.pods(NAMESPACE))
        return Counter(int(pod.labels[CLASS_LABEL]) for pod in pods if pod.bound)

    def _allocated(self, placed: Mapping[int, int]) -> float:
        gpu_milli = self.state.pods.gpu_milli
        return 100 * sum(int(gpu_milli[of]) * count for of, count in placed.items()) / self.state.fleet.gpu_milli

    def _latency(self, audit_start: AuditMark) -> Latency:
        lines = read_pod_timelines(self.context.observer.take_journal(), NAMESPACE)
        entries = read_audit_entries(self.context.cluster.audit_log, audit_start)
        seen_s = [seconds for line in lines if (seconds := line.created_to_bound_s) is not None]
        return make_latency(seen_s, measure_binding_lags_s(lines, entries))

    def _create(self, manifests: Iterable[Manifest]) -> None:
        """Create objects in their order, some at a time."""
        create = self.context.objects.create
        dues = (Due(0.0, one["metadata"]["name"], partial(create, one)) for one in manifests)
        Pacer(self.context.observer.clock, inf, _too_late).run(dues)


def _too_late(name: str, late_s: float) -> StowageError:
    return StowageError(f"{name} was created {late_s:.0f} s late")


def _class_of(template: Manifest) -> int:
    return int(template["metadata"]["name"].removeprefix(CLAIM_TEMPLATE))


def _labelled(pod: Manifest, of: int) -> Manifest:
    """Return a pod of a class as it is to run on a fake node."""
    pod["metadata"]["labels"] = {CLASS_LABEL: str(of)}
    pod["spec"] |= {
        "terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False, "enableServiceLinks": False,
    }  # fmt: skip
    return pod


def _replica_set(of: int, count: int, pod: Manifest) -> Manifest:
    made = _labelled(pod, of)
    labels = made["metadata"]["labels"]
    template = {"metadata": {"labels": labels}, "spec": made["spec"]}
    spec = {"replicas": count, "selector": {"matchLabels": labels}, "template": template}
    return make_manifest("apps/v1", "ReplicaSet", f"class-{of}", NAMESPACE, spec=spec)


@condition
def nodes_ready(state: State, count: int) -> ConditionResult:
    """Hold when so many fake nodes take pods."""
    nodes = [body for body in state.bodies("Node") if name_of(body).startswith(NODE)]
    open_ = sum(map(is_schedulable, nodes))
    return ConditionResult(open_ == count, f"{open_} of {count} nodes are ready")


@condition
def adopted(state: State, count: int) -> ConditionResult:
    """Hold when there are ``count`` live pods, each with a controller."""
    pods = state.pods(NAMESPACE)
    owned = sum(bool(pod.owner_uid) for pod in pods)
    return ConditionResult(len(pods) == count == owned, f"{owned} of {len(pods)} pods have a controller")


def live_table(row: LiveRow) -> Table:
    """Return what a list came to."""
    plan, found = row.plan, row.latency.percentiles_s
    shown = {name: "-" if value is None else f"{value:.3f} s" for name, value in found.items()}
    moves = ", ".join(f"{count} {state or 'not begun'}" for state, count in plan.moves.items()) or "none"
    calls = sum(row.requests.values()) / row.arrived
    cells = (
        ("fleet", f"{row.nodes} nodes with {row.gpus} GPUs in {row.fleet_s:.1f} s, after {row.cluster_s:.1f} s"),
        ("pods", f"{row.arrived} tried in {row.decided_s:.1f} s, {row.placed} placed"),
        ("created to bound", ", ".join(f"{name} {text}" for name, text in shown.items()) + f"; n = {row.latency.n}"),
        ("writes a pod", f"{calls:.1f}"),
        ("GPUs allocated", f"{row.before:.2f} %; simulated {row.simulated:.2f} %; after the plan {row.after:.2f} %"),
        ("plan", f"{plan.phase} ({plan.end_reason}) in {plan.took_s:.1f} s, of which {plan.solve_s:.1f} s solving"),
        ("moves", f"{moves}; at most {plan.most_moves}"),
        ("pods with a node", f"{row.placed} before, {row.placed_after} after {plan.placements} placements"),
        ("pods lost", str(plan.lost)),
        ("left alone", ", ".join(f"{count} {reason}" for reason, count in plan.refusals.items()) or "none"),
        ("peak memory", ", ".join(f"{name} {mib:.0f} MiB" for name, mib in row.peak_mib.items())),
    )  # fmt: skip
    notes = (plan.message,) if plan.message else ()
    return Table(f"Live: {row.request.id}", ("what", "found"), cells, notes)


def live_figures(row: LiveRow) -> Iterator[Figure]:
    """Yield the figures of a list."""
    plan, name = row.plan, f"fgd live {row.request.pods}, {row.nodes} nodes"
    one = partial(figure, value=fmean, spread=False)
    yield one(f"{name}: fleet up", "s", [row.fleet_s], target=at_most(FLEET_UP_S, "s"))
    yield one(f"{name}: pods tried", "pods", [row.arrived], target=at_least(row.arrived, "pods"))
    yield one(f"{name}: until the last was tried", "s", [row.decided_s])
    yield one(f"{name}: pods placed", "pods", [row.placed])
    for rank, value in row.latency.percentiles_s.items():
        yield one(f"{name}: created to bound, {rank}", "s", [] if value is None else [value])
    yield one(f"{name}: allocated", "%", [row.before], note=f"simulated: {row.simulated:.2f} %")
    yield one(f"{name}: allocated after the plan", "%", [row.after])
    yield one(f"{name}: moves", "moves", [sum(plan.moves.values())], target=at_most(plan.most_moves, "moves"))
    yield one(f"{name}: moves not carried out", "moves", [row.undone], target=at_most(0, "moves"))
    yield one(f"{name}: pods lost", "pods", [plan.lost], target=at_most(0, "pods"))
    yield one(f"{name}: plan", "s", [plan.took_s], note=f"{plan.phase}: {plan.message}"[:200])
    for part, mib in row.peak_mib.items():
        yield one(f"{name}: peak memory of the {part}", "MiB", [mib])


def report_live(row: LiveRow, path: Path) -> str:
    """Write the table and the figures to a folder; return what a terminal shows."""
    return write_tables(path, path / FIGURES, [live_table(row)], list(live_figures(row)), {"scope": row.request.id})
