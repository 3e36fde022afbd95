"""CP-SAT's proofs, where its presolve is known to have been wrong."""

from __future__ import annotations

import pytest
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb

GPU, FPGA = "example.com/gpu", "example.com/fpga"
LARGE, SMALL = (646, 6160744598), (323, 3080372299)
NODES = (LARGE, LARGE, SMALL, SMALL)

PODS = (
    # priority, cpu, memory, extended, nodes it may be on, node it runs on
    (2, 79, 586327902, "", (0,), 0),
    (2, 79, 586327902, "", (1, 2, 3), 1),
    (2, 79, 586327902, "", (0,), 0),
    (2, 22, 829652163, "", (1,), 1),
    (2, 22, 829652163, "", (0, 1), 1),
    (2, 22, 829652163, "", (0, 1), 1),
    (2, 88, 529108700, "", (0, 1), 0),
    (2, 88, 529108700, "", (1,), 1),
    (2, 88, 529108700, "", (0,), 0),
    (1, 72, 223261764, "", (3,), 3),
    (2, 34, 148444235, "", (1,), 1),
    (2, 34, 148444235, "", (1,), 1),
    (2, 11, 779858031, "", (0, 2), 2),
    (1, 84, 974823849, "", (3,), 3),
    (2, 66, 289241023, "", (1,), 1),
    (2, 66, 289241023, "", (0, 3), 0),
    (1, 94, 805802184, "", (1,), 1),
    (2, 92, 345343668, "", (0, 1), 1),
    (2, 92, 345343668, "", (0,), 0),
    (2, 62, 291907471, "", (2,), 2),
    (2, 62, 291907471, "", (1, 2, 3), 2),
    (2, 67, 738290130, GPU, (0, 2), 2),
    (2, 67, 738290130, GPU, (3,), 3),
    (2, 67, 738290130, GPU, (0, 1, 2), 1),
    (2, 58, 986088141, FPGA, (0,), 0),
    (2, 58, 986088141, FPGA, (2, 3), None),
    (2, 58, 986088141, FPGA, (1, 2, 3), None),
)


def _snapshot() -> pb.Snapshot:
    """Return what is left of an instance of the benchmark, made as small as can be."""
    builder = SnapshotBuilder()
    for number, (cpu, memory) in enumerate(NODES):
        builder.node(
            f"n{number}",
            cpu_milli=cpu,
            memory_bytes=memory,
            labels={"at": str(number)},
            extended={GPU: 1, FPGA: 1},
        )
    for number, (priority, cpu, memory, extended, eligible, home) in enumerate(PODS):
        one = builder.pod_class(
            f"c{number}",
            cpu_milli=cpu,
            memory_bytes=memory,
            priority=priority,
            extended={extended: 1} if extended else None,
        )
        term = one.required_node_affinity.add()
        term.match_expressions.add(
            key="at", operator="In", values=[str(node) for node in eligible]
        )
        builder.pod(
            f"p{number}", of=f"c{number}", node="" if home is None else f"n{home}"
        )
    return builder.message


@pytest.mark.parametrize("strategy", ["paper", "cpsat-aggregated", "lexicographic"])
def test_presolve_does_not_remove_the_best_plan(strategy: str) -> None:
    """Version 9.15 proved that a pod must be evicted which can stay.

    It loses solutions where at-most-one rows lie within linear ones
    (google/or-tools issue 5293), and then calls what is left optimal.
    """
    plan = answer_to(_snapshot(), strategy=strategy).plan

    assert plan.optimal
    assert not plan.evictions
    assert [(one.priority, one.placed, one.disruption) for one in plan.tiers] == [
        (2, 24, 2),
        (1, 27, 2),
    ]
