"""A scenario's settled state as the scheduler without an API server finds it."""

from stowage_testbed.amounts.resources import NOTHING
from stowage_testbed.api.client import Manifest
from stowage_testbed.metrics.state import ClusterState, NodeState, PodState
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.manifests import make_bare_pod, make_controller
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import actions_of
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.simulate.instance import Instance
from stowage_testbed.simulate.process import Simulator

NAMESPACE = "scenario"


def make_instance(scenario: Scenario) -> Instance:
    """Return the nodes, the pods in the order of arrival, and their ReplicaSets, by which the scheduler spreads."""
    pods = make_pods(scenario, NAMESPACE)
    for pod in pods:
        # As its ReplicaSet makes it.
        name = pod["metadata"]["labels"][WORKLOAD_LABEL]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"owner-{name}"}
        pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return Instance(
        scenario.scenario_id,
        (*scenario.first_nodes, *({"apiVersion": "v1", **one.manifest} for one in scenario.node_objects)),
        tuple(pods),
        # What a ReplicaSet is, and what a Deployment makes.
        tuple({**make_controller(workload, NAMESPACE), "kind": "ReplicaSet"} for workload in scenario.workload),
    )


def make_pods(scenario: Scenario, namespace: str) -> list[Manifest]:
    """Return the pods in the order of arrival for `stowage-simulate`, with names and priorities as admission gives."""
    applied = [name for step in actions_of(scenario.steps, Apply) for name in step.names]
    order = {name: number for number, name in enumerate(applied)}
    pods = []
    for workload in sorted(scenario.workload, key=lambda one: order.get(one.name, len(order))):
        for number in range(workload.replicas):
            pod = make_bare_pod(workload, f"{workload.name}-{number}", namespace)
            pod["spec"]["priority"] = workload.priority
            pods.append(pod)
    return pods


def simulate(scenario: Scenario, simulator: Simulator) -> ClusterState:
    """Place the scenario's pods one after the other, in the order of arrival; those of a burst, too."""
    placed = simulator.place(make_instance(scenario))
    workloads = {workload.name: workload for workload in scenario.workload}
    states = []
    for pod in make_pods(scenario, NAMESPACE):
        name, of = pod["metadata"]["name"], workloads[pod["metadata"]["labels"][WORKLOAD_LABEL]]
        states.append(PodState(of.name, placed.nodes[f"{NAMESPACE}/{name}"], of.takes, of.priority, name))
    own = [NodeState(name, pool.resources) for pool in scenario.nodes for name in pool.node_names()]
    given = [NodeState(one.object_name, one.allocatable or NOTHING) for one in scenario.node_objects]
    return ClusterState(nodes=(*own, *given), pods=tuple(states))
