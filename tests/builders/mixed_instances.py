"""The paper's instances with what real clusters have.

Of the ReplicaSets 20 % want labelled nodes, 10 % keep their pods on different nodes, 10 % spread them over zones. Nodes
come in two sizes with the same total, every fourth carries a taint, which half of the ReplicaSets tolerate.
"""

import random
from dataclasses import replace

from stowage_testbed.amounts.resources import CPU, MEMORY, PODS, Resources
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, Taint
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.instances import REQUIRED, ZONES, Case, Cell, Family
from stowage_testbed.scenario.model import Scenario, Workload, imply_steps

DISK = "stowage.dev/disk"
DEDICATED = "stowage.dev/dedicated"
HOSTNAME = "kubernetes.io/hostname"
SELECTOR_SHARE, APART_SHARE, SPREAD_SHARE = 0.2, 0.1, 0.1
TOLERATING_SHARE = 0.5
LARGE_PARTS, SMALL_PARTS, PARTS = 4, 2, 3
"""A large node has 4/3 of the equal nodes' size, a small one 2/3."""


def mixed_scenario(cell: Cell, number: int) -> Scenario:
    """Return the first try of a case with constraints."""
    scenario = with_constraints(Case(Family.PAPER, cell, number).scenario(0))
    return replace(scenario, name=f"mix-{cell.name}-{number}", steps=imply_steps(scenario.workload))


def with_constraints(scenario: Scenario) -> Scenario:
    """Return ``scenario`` with the mix, drawn from its own seed."""
    assert scenario.instance is not None
    draw = random.Random(scenario.instance.seed)  # noqa: S311
    workload = tuple(_constrain(one, draw) for one in scenario.workload)
    (pool,) = scenario.nodes
    largest = Resources({name: max(one.requests[name] for one in scenario.workload) for name in (CPU, MEMORY)})
    half, tainted = pool.count // 2, max(1, pool.count // 4)

    def part(name: str, count: int, parts: int) -> NodePool:
        return NodePool(
            name_prefix=name,
            count=count,
            resources=Resources(
                {name: max(largest[name], pool.resources[name] * parts // PARTS) for name in (CPU, MEMORY)},
                pods=pool.resources[PODS],
            ),
            zones=ZONES,
        )

    taint = Taint(DEDICATED, "NoSchedule", "batch")
    pools = (
        replace(part("large-ssd", half, LARGE_PARTS), labels={DISK: "ssd"}),
        replace(part("small-dedicated", tainted, SMALL_PARTS), taints=(taint,)),
        part("small", pool.count - half - tainted, SMALL_PARTS),
    )
    return replace(scenario, nodes=pools, workload=workload)


def _constrain(workload: Workload, draw: random.Random) -> Workload:
    pod: dict[str, object] = {}
    chosen = draw.random()
    if draw.random() < TOLERATING_SHARE:
        pod["tolerations"] = [{"key": DEDICATED, "operator": "Exists", "effect": "NoSchedule"}]
    own = {"matchLabels": {WORKLOAD_LABEL: workload.name}}
    if chosen < SELECTOR_SHARE:
        pod["nodeSelector"] = {DISK: "ssd"}
    elif chosen < SELECTOR_SHARE + APART_SHARE:
        term = {"labelSelector": own, "topologyKey": HOSTNAME}
        pod["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    elif chosen < SELECTOR_SHARE + APART_SHARE + SPREAD_SHARE:
        pod["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": ZONE_LABEL, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
        ]
    return replace(workload, pod=pod)
