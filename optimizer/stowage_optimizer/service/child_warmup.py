"""Warming up a child: it does once what every call does, before the first call.

A child shares its memory with the fork server until it writes there, and copying a page
takes longer than most of the work on it. So an idle child solves a small problem.
"""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.options import DEFAULT_STRATEGY, Policy
from stowage_optimizer.strategies.bounds import trivial_bounds
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reduced import reduced

PODS = 20
"""A plan with some of everything."""


def warm_up_child() -> None:
    """Read a small request, write a plan for it, and forget both."""
    body = pb.SolveRequest(snapshot=_snapshot()).SerializeToString()
    request = pb.SolveRequest.FromString(body)
    issues = Issues()
    snapshot = decode_snapshot(request.snapshot, issues)
    decode_options(
        request.options,
        issues,
        strategies={DEFAULT_STRATEGY},
        default_time_limit_s=1.0,
        default_workers=0,
    )
    packing = reduced(snapshot)
    writer = PlanWriter(snapshot, packing, Policy.STRICT)
    elsewhere = tuple((item.home or 0) ^ 1 for item in packing.items)
    plan = writer.write(elsewhere, trivial_bounds(packing))
    encode_plan(plan).SerializeToString()


def _snapshot() -> pb.Snapshot:
    return pb.Snapshot(
        id="warm-up",
        nodes=[
            pb.Node(name=name, allocatable=pb.Resources(cpu_milli=PODS, pods=PODS))
            for name in ("a", "b")
        ],
        pod_classes=[
            pb.PodClass(
                id=f"class-{number}",
                namespace="n",
                priority=number % 2,
                labels={"number": str(number)},
                requests=pb.Resources(cpu_milli=1),
            )
            for number in range(PODS // 2)
        ],
        pods=[
            pb.Pod(
                uid=f"{number}",
                namespace="n",
                name=f"{number}",
                class_id=f"class-{number // 2}",
                node="a" if number % 2 else "",
                movable=True,
            )
            for number in range(PODS)
        ],
    )
