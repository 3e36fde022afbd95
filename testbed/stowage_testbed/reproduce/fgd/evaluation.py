"""The evaluation as tasks of a sweep: `rebuild` executes what is missing, `read` returns what a folder holds.

A policy on a list of pods in one order of arrival is a task of its own, and so are the prices of a list, which our
scores need. Moves after a policy are tasks, too, which repeat its run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import filter as filter_names
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter

import msgspec
import numpy as np

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.reproduce.fgd.cluster import place_by_scheduler
from stowage_testbed.reproduce.fgd.descent import descended_price
from stowage_testbed.reproduce.fgd.moves import FleetState, MoveRow, MoveTask, plan_moves
from stowage_testbed.reproduce.fgd.prices import no_prices, price
from stowage_testbed.reproduce.fgd.simulation import Policy, PriceArrays, Problem, simulate
from stowage_testbed.reproduce.fgd.trace import (
    GPU_NODES,
    PublishedCurve,
    pod_lists,
    read_nodes,
    read_pods,
    read_published,
)
from stowage_testbed.reproduce.fgd.workload import (
    FIRST_SEED,
    MOST_LOAD,
    TYPICAL_PERCENT,
    Fleet,
    Ints,
    PodList,
    arrivals,
)
from stowage_testbed.reproduce.sweep import (
    SweepListener,
    Task,
    Tools,
    Workers,
    execute,
    frame_of,
    open_sweep,
    read_header,
    read_rows,
    write_frame,
)
from stowage_testbed.simulate.process import Simulator, find_profile

KIND = "fgd"
PRICES, RUNS, PUBLISHED, MOVES = "prices", "runs", "published", "moves"

LOADS = (98, 130)
"""Of tables and moves, in percent of all GPUs."""

PAPER_POLICIES = {
    "Random": Policy.RANDOM,
    "DotProd": Policy.DOT_PROD,
    "Clustering": Policy.CLUSTERING,
    "Packing": Policy.PACKING,
    "BestFit": Policy.BEST_FIT,
    "FGD": Policy.FGD,
}
"""By the paper's names, the worst first."""

PLUGIN = "Stowage, plugin"
OURS = {"Stowage": Policy.STOWAGE, "Stowage, first fit": Policy.STOWAGE_FIRST_FIT, PLUGIN: Policy.STOWAGE_FIRST_FIT}
"""All but the first leave the choice of a GPU to Kubernetes' allocator, which takes the first that fits.

The last has the prices that the scheduler's plugin Devices finds without a solver; the others have a linear program's.
"""

POLICIES = PAPER_POLICIES | OURS

PROFILE_LIMIT_S = 3600.0

MOVED_AFTER = ("BestFit", "FGD", "Stowage, first fit")
"""The policies after which moves are planned: Kubernetes' own, the paper's and ours, as it runs in Kubernetes."""


@dataclass(frozen=True, slots=True)
class FgdRequest:
    """What is rebuilt of the evaluation.

    Parameters
    ----------
    pods
        Lists by name.
    seeds
        Orders of arrival.
    moves
        So many percent of the placed pods may move.
    profiles
        Of the scheduler, which places each list once, in the first order.
    """

    pods: tuple[str, ...]
    policies: tuple[str, ...]
    seeds: int
    moves: tuple[float, ...] = ()
    profiles: tuple[str, ...] = ()

    @property
    def all_policies(self) -> tuple[str, ...]:
        """Return the policies, and the scheduler's profiles as such."""
        return (*self.policies, *map(profile_policy, self.profiles))


@dataclass(frozen=True, slots=True)
class PriceRow:
    """`PriceArrays` of one list on one kind of node: those of the linear program, or of the plugin if ``descended``."""

    pods: str
    kind: int
    gap: tuple[float, ...]
    cpu: float
    memory: float
    descended: bool = False


@dataclass(frozen=True, slots=True)
class RunRow:
    """A policy on a list in one order of arrival; ``allocation`` is as of `PublishedCurve`."""

    pods: str
    policy: str
    seed: int
    arrived: int
    placed: int
    load: tuple[int, ...]
    allocation: tuple[float, ...]
    wall_s: float


Curve = PublishedCurve | RunRow


@dataclass(frozen=True, slots=True)
class FgdEvaluation:
    """What was rebuilt and what was published of it; ``failures`` is by task."""

    request: FgdRequest
    runs: tuple[RunRow, ...]
    moves: tuple[MoveRow, ...]
    published: tuple[PublishedCurve, ...]
    failures: Mapping[str, str]

    def of(self, pods: str, policy: str) -> tuple[RunRow, ...]:
        """Return the runs of a policy on a list."""
        return tuple(one for one in self.runs if (one.pods, one.policy) == (pods, policy))

    def published_of(self, pods: str, policy: str) -> tuple[PublishedCurve, ...]:
        """Return what was published of a policy on a list, for the seeds that were run."""
        seeds = {one.seed for one in self.of(pods, policy)}
        known = (one for one in self.published if (one.pods, one.policy) == (pods, policy))
        return tuple(one for one in known if one.seed in seeds)


def profile_policy(profile: str) -> str:
    """Return what a profile of the scheduler is called among the policies."""
    return f"profile {profile}"


def choose(option: str, patterns: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return which of the known names match a pattern, all without one; an `InputError` if one matches none."""
    for pattern in patterns:
        if not filter_names(known, pattern):
            raise InputError(f"{option} {pattern!r}: is none of {', '.join(known)}")
    return tuple(name for name in known if any(filter_names([name], one) for one in patterns or ("*",)))


def make_request(
    folder: Path,
    pods: Sequence[str],
    policies: Sequence[str],
    seeds: int,
    *,
    moves: Sequence[float] = (),
    profiles: Sequence[str] = (),
) -> FgdRequest:
    """Return what is to be rebuilt from a folder of the trace; an `InputError` if the folder has no list of pods."""
    known = pod_lists(folder)
    if not known:
        raise InputError(f"{folder} has no list of pods: name the folder with the CSV files of the OpenB trace")
    chosen = choose("--policies", policies, tuple(POLICIES))
    if moves and not set(chosen) & set(MOVED_AFTER):
        raise InputError(f"--moves: moves are planned after {', '.join(MOVED_AFTER)}; choose one of these --policies")
    for profile in profiles:
        find_profile(profile)
    named = tuple(dict.fromkeys(profiles))
    return FgdRequest(choose("--pods", pods, known), chosen, seeds, tuple(sorted(set(moves))), named)


def rebuild(folder: Path, request: FgdRequest, path: Path, workers: Workers, listener: SweepListener) -> FgdEvaluation:
    """Do what is left to do of the trace in ``folder``, write the Parquet files, and return all rows asked for."""
    fleet = Fleet.of(read_nodes(folder, GPU_NODES))
    lists = {name: PodList.of(name, read_pods(folder, name), fleet) for name in request.pods}
    published = [one for one in read_published(folder) if one.pods in lists]
    with open_sweep(path, KIND, msgspec.to_builtins(request)):
        prices = TaskJournal(path / f"{PRICES}.jsonl", PriceRow)
        runs = TaskJournal(path / f"{RUNS}.jsonl", RunRow)
        moves = TaskJournal(path / f"{MOVES}.jsonl", MoveRow)
        pricings = {
            price_task(name, policy): partial(price_list, one, fleet, descended=policy == PLUGIN)
            for policy, (name, one) in product(request.policies, lists.items())
            if policy in OURS
        }
        unpriced: Mapping[str, str] = {}
        if pricings:
            unpriced = execute("prices", [Task(*one) for one in pricings.items()], prices, workers, listener)
        placings, movings = list[Task[RunRow]](), list[Task[MoveRow]]()
        # First orders of all lists before second ones.
        for seed, name, policy in product(range(FIRST_SEED, FIRST_SEED + request.seeds), lists, request.policies):
            rows = prices.get(price_task(name, policy)) if policy in OURS else ()
            if not rows and policy in OURS:
                continue
            place = partial(run_policy, lists[name], fleet, policy=policy, seed=seed, prices=rows)
            placings.append(Task(f"{name} {policy} {seed}", place))
            for load, percent in product(LOADS, request.moves if policy in MOVED_AFTER else ()):
                task = MoveTask(name, policy, seed, load, percent)
                movings.append(Task(task.id, partial(run_moves, task, lists[name], fleet, prices=rows)))
        for name, profile in product(lists, request.profiles):
            task_id = f"{name} {profile_policy(profile)} {FIRST_SEED}"
            placings.append(Task(task_id, partial(run_profile, lists[name], fleet, profile=profile)))
        unplaced = execute("runs", placings, runs, workers, listener)
        unmoved = execute("moves", movings, moves, workers, listener)
        found = (row for task in placings for row in runs.get(task.id))
        write_frame(path / f"{RUNS}.parquet", frame_of(found, RunRow))
        planned = (row for task in movings for row in moves.get(task.id))
        write_frame(path / f"{MOVES}.parquet", frame_of(planned, MoveRow))
        priced = (row for task_id in pricings for row in prices.get(task_id))
        write_frame(path / f"{PRICES}.parquet", frame_of(priced, PriceRow))
        write_frame(path / f"{PUBLISHED}.parquet", frame_of(published, PublishedCurve))
    return read(path, {**unpriced, **unplaced, **unmoved})


def read(path: Path, failures: Mapping[str, str] | None = None) -> FgdEvaluation:
    """Return what the folder's Parquet files hold."""
    return FgdEvaluation(
        request=msgspec.convert(read_header(path).scope, FgdRequest),
        runs=read_rows(path / f"{RUNS}.parquet", RunRow),
        moves=read_rows(path / f"{MOVES}.parquet", MoveRow),
        published=read_rows(path / f"{PUBLISHED}.parquet", PublishedCurve),
        failures=dict(failures or {}),
    )


def price_task(pods: str, policy: str) -> str:
    """Return the name of the task that prices a list for one of our policies."""
    return f"{'descended ' if policy == PLUGIN else ''}prices of {pods}"


def price_list(pods: PodList, fleet: Fleet, tools: Tools, *, descended: bool) -> tuple[PriceRow, ...]:
    """Return the prices of a list by kind of node."""
    found = descended_price(pods, fleet) if descended else price(pods, fleet)
    by_kind = zip(found.gap.tolist(), found.cpu.tolist(), found.memory.tolist(), strict=True)
    return tuple(
        PriceRow(pods.name, kind, tuple(gap), cpu, memory, descended) for kind, (gap, cpu, memory) in enumerate(by_kind)
    )


def run_policy(
    pods: PodList, fleet: Fleet, tools: Tools, *, policy: str, seed: int, prices: Sequence[PriceRow]
) -> tuple[RunRow, ...]:
    """Return how much a policy allocates."""
    began = perf_counter()
    return (_row(policy, seed, place_all(pods, fleet, policy, seed, prices), began),)


def run_profile(pods: PodList, fleet: Fleet, tools: Tools, *, profile: str) -> tuple[RunRow, ...]:
    """Return how much the scheduler allocates, without moves."""
    began = perf_counter()
    arriving, nodes = arrivals(pods, fleet, FIRST_SEED)
    with Simulator(find_profile(profile), timeout_s=PROFILE_LIMIT_S) as simulator:
        end = place_by_scheduler(pods, fleet, nodes, arriving, simulator)
    return (_row(profile_policy(profile), FIRST_SEED, end, began),)


def _row(policy: str, seed: int, end: FleetState, began: float) -> RunRow:
    load, allocation = curve(end.pods.gpu_milli[end.arrived], end.node, end.fleet.gpu_milli)
    return RunRow(
        pods=end.pods.name,
        policy=policy,
        seed=seed,
        arrived=len(end.arrived),
        placed=int((end.node >= 0).sum()),
        load=load,
        allocation=allocation,
        wall_s=perf_counter() - began,
    )


def run_moves(
    task: MoveTask, pods: PodList, fleet: Fleet, tools: Tools, *, prices: Sequence[PriceRow]
) -> tuple[MoveRow, ...]:
    """Return what moves add to a policy's placements at a load."""
    return (plan_moves(task, place_all(pods, fleet, task.policy, task.seed, prices).at(task.load), tools),)


def place_all(pods: PodList, fleet: Fleet, policy: str, seed: int, prices: Sequence[PriceRow]) -> FleetState:
    """Return where a policy places all pods of a list; ours measures fragments by all classes of pods."""
    arriving, nodes = arrivals(pods, fleet, seed)
    problem = Problem(
        int(POLICIES[policy]),
        pods.pods,
        nodes,
        pods.typical(100 if policy in OURS else TYPICAL_PERCENT),
        _arrays(prices) if prices else no_prices(fleet),
    )
    return FleetState(pods, fleet, nodes, arriving, *simulate(problem, arriving, seed))


def _arrays(rows: Sequence[PriceRow]) -> PriceArrays:
    gap = np.array([row.gap for row in rows])
    return PriceArrays(gap, np.array([row.cpu for row in rows]), np.array([row.memory for row in rows]))


def curve(asked: Ints, node: Ints, total: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the allocation in percent by load, rounded and averaged as the authors do (merge_alloc_discrete.py:92)."""
    loads = np.round(np.cumsum(asked) / total * 100)
    allocation = np.round(np.cumsum(np.where(node >= 0, asked, 0)) / total * 100, 2)
    known = dict[int, float]()
    for load in range(round(100 * MOST_LOAD) + 1):
        near = loads == load
        # Pods of several GPUs may step over a load.
        near = near if near.any() else abs(loads - load) <= 1
        if near.any():
            known[load] = round(float(allocation[near].mean()), 2)
    return tuple(known), tuple(known.values())


def at_load(one: Curve, load: int) -> float | None:
    """Return the allocation at a load in percent; None if it was not reached."""
    return dict(zip(one.load, one.allocation, strict=True)).get(load)
