"""Plans that put a pod where it cannot run."""

from __future__ import annotations

from snapshot_builder import GB

from broken_plans.context import Mutations, PlanContext, set_disruption
from stowage_optimizer.contract import optimizer_pb2 as pb


def _no_room(context: PlanContext) -> None:
    del context.plan.moves[:]
    set_disruption(context, 0)


def _too_many_pods(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.allocatable.pods = 1


def _room_is_reserved(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        context.snapshot.reservations.add(
            name="held", node=node.name, held=pb.Resources(memory_bytes=2 * GB)
        )


def _wants_a_gpu(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].requests.extended["example.com/gpu"] = 1


def _wants_a_disk(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].requests.ephemeral_storage_bytes = 1


def _tainted(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.taints.add(key="k", value="v", effect="NoExecute")


def _cordoned(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.unschedulable = True


def _selects_elsewhere(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].node_selector["disk"] = "ssd"


def _affine_elsewhere(context: PlanContext) -> None:
    term = context.snapshot.pod_classes[2].required_node_affinity.add()
    term.match_expressions.add(key="disk", operator="Exists")


def _volume_is_elsewhere(context: PlanContext) -> None:
    term = context.snapshot.pod_classes[2].volume_node_affinity.add().terms.add()
    term.match_expressions.add(key="zone", operator="Exists")


def _named_elsewhere(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].node_name = "node-9"


def _refused_there(context: PlanContext) -> None:
    context.snapshot.forbidden_pairs.add(
        class_id="class-pod-3", node=context.plan.placements[0].node
    )


def _has_host_port(context: PlanContext) -> None:
    for pod_class in context.snapshot.pod_classes:
        pod_class.host_ports.add(port=80)


def _is_kept_away(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.labels["zone"] = "z"
    context.snapshot.pod_classes[0].required_pod_anti_affinity.add(
        topology_key="zone", label_selector=pb.LabelSelector()
    )


def _has_affinity(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].required_pod_affinity.add(topology_key="zone")


def _has_spread(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].topology_spread.add(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
    )


def _has_volumes(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].unsupported.append("volumes")


PLACES: Mutations = {
    "capacity": (
        _no_room,
        _too_many_pods,
        _room_is_reserved,
        _wants_a_gpu,
        _wants_a_disk,
    ),
    "eligibility": (
        _tainted,
        _cordoned,
        _selects_elsewhere,
        _affine_elsewhere,
        _volume_is_elsewhere,
        _named_elsewhere,
        _refused_there,
    ),
    "host-ports": (_has_host_port,),
    "pod-anti-affinity": (_is_kept_away,),
    "pod-affinity": (_has_affinity,),
    "topology-spread": (_has_spread,),
    "unverifiable": (_has_volumes,),
}
