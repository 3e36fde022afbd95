"""Putting an instance to the optimiser, under the paper's own policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import grpc

from optimizer.contract import optimizer_pb2 as pb
from testbed.bench.case import Case, Family
from testbed.bench.cell import Cell
from testbed.bench.errors import CallFailedError
from testbed.bench.service import RunningService
from testbed.bench.snapshot import snapshot_of
from testbed.reproduce.paper.errors import StepsCutShortError
from testbed.reproduce.paper.rows import PENDING, InstanceRow, ResultRow, TierRow, Where
from testbed.reproduce.paper.selecting import pod_names
from testbed.reproduce.sweep.tools import Tools
from testbed.scenario.model import Scenario

GRACE_S = 30.0
"""Beyond its limit a call is given this, and is then an error of the service."""

OVERRAN = "the solver overran its time limit"
"""How the service says that it killed a solve, by the wall clock."""

SEED = 1
"""Of the strategies' own random choices."""


@dataclass(frozen=True, slots=True)
class SolveTask:
    """One strategy with one limit on one instance.

    Attributes
    ----------
    deterministic
        Count work in steps, not seconds, on one core: the same plan anywhere.
    """

    instance: InstanceRow
    strategy: str
    limit_s: float
    deterministic: bool = False

    @property
    def id(self) -> str:
        """Return instance, strategy and limit as one name."""
        steps = " in steps" if self.deterministic else ""
        return f"{self.instance.case} {self.strategy} {self.limit_s:g} s{steps}"

    def carry_out(self, tools: Tools) -> tuple[ResultRow, ...]:
        """Return what the strategy made of it."""
        cores = 1 if self.deterministic else tools.cores
        scenario = scenario_of(self.instance)
        nodes = scenario.nodes[0].node_names()
        names = pod_names(scenario)
        start = self.instance.start
        snapshot = snapshot_of(
            scenario,
            {
                name: None if at == PENDING else nodes[at]
                for name, at in zip(names, start, strict=True)
            },
        )
        request = pb.SolveRequest(
            snapshot=snapshot,
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
        last = self._last_answer(service, request)
        wall_s = perf_counter() - began
        plan = last.plan
        return (
            ResultRow(
                case=self.instance.case,
                strategy=self.strategy,
                limit_s=self.limit_s,
                cores=cores,
                end_reason=pb.EndReason.Name(last.end_reason).removeprefix(
                    "END_REASON_"
                ),
                message=last.message,
                optimal=plan.optimal,
                plan=carried_out(start, plan, names, nodes),
                moves=len(plan.moves),
                evictions=len(plan.evictions),
                tiers=tuple(_tier(tier) for tier in plan.tiers),
                wall_s=wall_s,
                solve_s=last.durations.solve_s,
            ),
        )

    def _last_answer(
        self, service: RunningService, request: pb.SolveRequest
    ) -> pb.SolveUpdate:
        # Work in steps takes the time that it takes: the service kills it if it hangs.
        timeout_s = self.limit_s + GRACE_S
        try:
            last = None
            for last in service.stub.Solve(request, timeout=timeout_s):  # noqa: B007
                pass
        except grpc.RpcError as error:
            raise CallFailedError(
                self.instance.case, self.strategy, str(error.details())
            ) from None
        if last is None or not last.last:
            raise CallFailedError(
                self.instance.case, self.strategy, "the stream ended early"
            )
        if self.deterministic and last.message.startswith(OVERRAN):
            raise StepsCutShortError(self.id, self.limit_s)
        return last


def scenario_of(instance: InstanceRow) -> Scenario:
    """Return the scenario that the instance was generated as."""
    cell = Cell(
        instance.nodes,
        instance.pods_per_node,
        instance.priorities,
        instance.usage_percent,
    )
    case = Case(Family.PAPER, cell, instance.number)
    return case.scenario(instance.seeds_tried - 1)


def carried_out(
    start: Where, plan: pb.Plan, names: Sequence[str], nodes: Sequence[str]
) -> Where:
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


def _tier(tier: pb.TierResult) -> TierRow:
    return TierRow(
        priority=tier.priority,
        placed_before=tier.placed_before,
        placed=tier.placed,
        upper_bound=tier.upper_bound,
        optimal=tier.optimal,
        disruption=tier.disruption,
        disruption_lower_bound=tier.disruption_lower_bound,
    )
