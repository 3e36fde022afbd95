"""Solving a snapshot in this very process, without child or socket."""

import time
from dataclasses import dataclass
from functools import cache, cached_property

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.issues import Issues
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Refusal, Snapshot
from stowage_optimizer.model.solution import EndReason, Publish, Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.cache import BackgroundCompiler
from stowage_optimizer.service.warmup import warm_up
from stowage_optimizer.stages.pipeline import Packings, solve
from stowage_optimizer.strategies.registry import available_strategies

STRATEGIES = available_strategies()


@dataclass(frozen=True)
class Answer:
    """A solution, and the plan that is sent for it."""

    solution: Solution

    @cached_property
    def plan(self) -> pb.Plan:
        """The contract's message."""
        return encode_plan(self.solution)

    @property
    def end_reason(self) -> EndReason:
        """Why the solve ended."""
        return self.solution.end_reason

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was left out, and why."""
        return self.solution.refusals

    @property
    def message(self) -> str:
        """Any further message."""
        return self.solution.message


@dataclass(frozen=True)
class FindsNothing:
    """A strategy that has run out of time."""

    def solve(self, packing: Packing, budget: TimeBudget, publish: Publish) -> Solution:
        """Return what there is."""
        del publish
        writer = SolutionWriter(packing, budget.policy)
        return writer.write(packing.current, trivial_bounds(packing))


def decoded(snapshot: pb.Snapshot) -> Snapshot:
    """Return ``snapshot`` as the optimiser's model."""
    issues = Issues()
    model = decode_snapshot(snapshot, issues)
    issues.raise_if_any()
    return model


@cache
def _warm_up() -> None:
    """Load the hot loops, as the service does before its first request: on a busy machine that takes seconds."""
    warm_up(BackgroundCompiler())


def budget_of(options: SolveOptions) -> TimeBudget:
    """Return the budget of a solve that begins now, in a process as warm as the service's."""
    _warm_up()
    return TimeBudget.begin(options, time.monotonic)


def answer_to(
    snapshot: pb.Snapshot,
    *,
    policy: pb.Policy = pb.POLICY_STRICT,
    time_limit_s: float = 20.0,
    seed: int = 1,
    published: list[Solution] | None = None,
    deterministic: bool = False,
    strategy: str = "paper",
) -> Answer:
    """Return the answer of ``strategy`` alone; one thread keeps tests from crowding."""
    asked = pb.SolveOptions(
        strategy=strategy, policy=policy, time_limit_s=time_limit_s, workers=1, seed=seed, deterministic=deterministic
    )
    seen = [] if published is None else published
    packings = Packings(decoded(snapshot))
    packing = packings.related if strategy == "boreas" else packings.plain
    return Answer(STRATEGIES[strategy].solve(packing, budget_of(_options(asked)), seen.append))


def finished_answer_to(
    snapshot: pb.Snapshot, asked: pb.SolveOptions, *, published: list[Solution] | None = None
) -> Answer:
    """Return the answer to all of ``asked``, finished as the service does."""
    options = _options(asked)
    seen = [] if published is None else published
    return Answer(solve(STRATEGIES[options.strategy], Packings(decoded(snapshot)), budget_of(options), seen.append))


def empty(plan: pb.Plan) -> bool:
    """Return whether ``plan`` changes nothing."""
    return not (plan.placements or plan.moves or plan.evictions)


def _options(asked: pb.SolveOptions) -> SolveOptions:
    issues = Issues()
    options = decode_options(asked, issues, strategies=STRATEGIES, default_time_limit_s=20, default_workers=1)
    issues.raise_if_any()
    return options
