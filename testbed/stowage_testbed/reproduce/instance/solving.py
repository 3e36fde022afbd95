"""Putting an instance to the optimiser, under the paper's own policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError
from stowage_testbed.instances.snapshot import snapshot_of
from stowage_testbed.optimizer_service.service import RunningService, call_failed
from stowage_testbed.reproduce.instance.rows import PENDING, Case, Instance, ResultRow, TierRow, Where, pod_names
from stowage_testbed.reproduce.sweep.tools import Tools

OVERRAN = "the solver overran its time limit"
"""How the service says that it killed a solve, by the wall clock."""

SEED = 1
"""Of the strategies' own random choices."""


@dataclass(frozen=True, slots=True)
class SolveTask:
    """One strategy with one limit on one instance; pods are ``<workload>-<number>``.

    If ``deterministic``, work is counted in steps on one core: the same plan anywhere.
    """

    case: Case
    instance: Instance
    strategy: str
    limit_s: float
    deterministic: bool = False

    @property
    def id(self) -> str:
        """Return instance, strategy and limit as one name."""
        steps = " in steps" if self.deterministic else ""
        return f"{self.case.id} {self.strategy} {self.limit_s:g} s{steps}"

    def execute(self, tools: Tools) -> tuple[ResultRow, ...]:
        """Return what the strategy made of it."""
        scenario = self.case.scenario(self.instance.seeds_tried - 1)
        start, cores = self.instance.start, 1 if self.deterministic else tools.cores
        nodes = [name for pool in scenario.nodes for name in pool.node_names()]
        names = pod_names(scenario)
        placed = {name: None if at == PENDING else nodes[at] for name, at in zip(names, start, strict=True)}
        request = pb.SolveRequest(
            snapshot=snapshot_of(scenario, placed),
            options=pb.SolveOptions(
                strategy=self.strategy,
                time_limit_s=self.limit_s,
                policy=pb.POLICY_PAPER,
                seed=SEED,
                deterministic=self.deterministic,
                workers=cores,
            ),
        )
        service = tools.service
        began = perf_counter()
        last = self._answer(service, request)
        wall_s = perf_counter() - began
        plan = last.plan
        row = ResultRow(
            case=self.case.id,
            strategy=self.strategy,
            limit_s=self.limit_s,
            cores=cores,
            end_reason=pb.EndReason.Name(last.end_reason).removeprefix("END_REASON_"),
            message=last.message,
            optimal=plan.optimal,
            plan=carried_out(start, plan, names, nodes),
            moves=len(plan.moves),
            evictions=len(plan.evictions),
            tiers=tuple(map(TierRow.of, plan.tiers)),
            wall_s=wall_s,
            solve_s=last.durations.solve_s,
        )
        return (row,)

    def _answer(self, service: RunningService, request: pb.SolveRequest) -> pb.SolveUpdate:
        try:
            last = service.last_answer(request)
        except StowageError as error:
            raise call_failed(self.case.id, self.strategy, str(error)) from None
        if self.deterministic and last.message.startswith(OVERRAN):
            raise StowageError(
                f"{self.id}: the machine was too busy for its steps within "
                f"{self.limit_s:g} s; raise --limits, or use fewer --workers"
            )
        return last


def carried_out(start: Where, plan: pb.Plan, names: Sequence[str], nodes: Sequence[str]) -> Where:
    """Return where the pods are when ``plan`` is carried out from ``start``.

    A pod's UID is its name.
    """
    where = dict(zip(names, start, strict=True))
    numbers = {name: number for number, name in enumerate(nodes)}
    for placement in plan.placements:
        where[placement.pod_uid] = numbers[placement.node]
    for move in plan.moves:
        where[move.pod_uid] = numbers[move.to_node]
    for eviction in plan.evictions:
        where[eviction.pod_uid] = PENDING
    return tuple(where[name] for name in names)
