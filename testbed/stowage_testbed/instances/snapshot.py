"""From a scenario and the places of its pods to the contract's snapshot, as far as the benchmark's instances need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import message_of
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import make_nodes
from stowage_testbed.scenario.model import Scenario, Workload

NAMESPACE = "scenario"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def snapshot_of(scenario: Scenario, placements: Mapping[str, str | None]) -> pb.Snapshot:
    """Return the snapshot of a filled cluster; ``placements`` has the node of each ``<workload>-<number>``, or None."""
    sizes = {name: pool.resources for pool in scenario.nodes for name in pool.node_names()}
    snapshot = pb.Snapshot(
        id=f"{scenario.name}-{scenario.instance.seed if scenario.instance else 0}",
        nodes=[
            pb.Node(
                name=node["metadata"]["name"],
                allocatable=message_of(sizes[node["metadata"]["name"]]),
                labels=node["metadata"]["labels"],
                taints=[pb.Taint(**taint) for taint in node["spec"]["taints"]],
            )
            for node in make_nodes(scenario)
        ],
        pod_classes=[_pod_class(workload) for workload in scenario.workload],
    )
    for workload in scenario.workload:
        for number in range(workload.replicas):
            name = f"{workload.name}-{number}"
            snapshot.pods.add(
                uid=name,
                namespace=NAMESPACE,
                name=name,
                class_id=workload.name,
                node=placements[name] or "",
                movable=True,
            )
    return snapshot


def _pod_class(workload: Workload) -> pb.PodClass:
    spec: Mapping[str, Any] = workload.pod
    affinity = spec.get("affinity", {})
    apart = affinity.get("podAntiAffinity", {})
    on = affinity.get("nodeAffinity", {}).get(REQUIRED, {})
    return pb.PodClass(
        id=workload.name,
        namespace=NAMESPACE,
        labels={**workload.labels, WORKLOAD_LABEL: workload.name},
        owner=pb.Owner(kind=workload.kind, name=workload.name, uid=f"owner-{workload.name}"),
        priority=workload.priority,
        requests=message_of(workload.requests),
        node_selector=spec.get("nodeSelector", {}),
        required_node_affinity=[
            pb.NodeSelectorTerm(match_expressions=[pb.Requirement(**one) for one in term["matchExpressions"]])
            for term in on.get("nodeSelectorTerms", ())
        ],
        tolerations=[pb.Toleration(**one) for one in spec.get("tolerations", ())],
        required_pod_anti_affinity=[
            pb.PodAffinityTerm(label_selector=_selector(term["labelSelector"]), topology_key=term["topologyKey"])
            for term in apart.get(REQUIRED, ())
        ],
        topology_spread=[
            pb.TopologySpreadConstraint(
                max_skew=one["maxSkew"],
                topology_key=one["topologyKey"],
                when_unsatisfiable=one["whenUnsatisfiable"],
                label_selector=_selector(one["labelSelector"]),
            )
            for one in spec.get("topologySpreadConstraints", ())
        ],
    )


def _selector(selector: Mapping[str, Any]) -> pb.LabelSelector:
    return pb.LabelSelector(match_labels=selector["matchLabels"])
