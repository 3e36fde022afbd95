"""The environment of one scenario run: a fresh namespace and fresh nodes."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.api_client import manifest_of
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.observe.settled import object_there, objects_gone, pods_gone
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.manifests import (
    priority_class_manifests,
    priority_class_name,
)
from stowage_testbed.scenario.model import Scenario

LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class ScenarioEnvironment:
    """The namespace and the nodes of one scenario run."""

    namespace: str
    nodes: tuple[str, ...]


def prepare(
    context: RunContext, scenario: Scenario, repeat: int
) -> ScenarioEnvironment:
    """Make namespace, priority classes and nodes; all are ready on return."""
    namespace = namespace_of(context, scenario, repeat)
    make_namespace(context, namespace)
    for manifest in priority_class_manifests(scenario):
        context.objects.create(manifest, or_keep=True)
    nodes = _create_nodes(context, scenario)
    await_account(context, namespace)
    return ScenarioEnvironment(namespace, tuple(nodes))


def make_namespace(context: RunContext, name: str) -> None:
    """Create a namespace, which takes pods once `await_account` has returned."""
    context.objects.create(manifest_of("Namespace", name))


def await_account(context: RunContext, namespace: str) -> None:
    """Wait for its default account, without which a namespace takes no pods."""
    context.observer.wait_for(
        f"the default service account of {namespace}",
        object_there("ServiceAccount", namespace, "default"),
        timeout_s=context.timeouts.prepare_s,
    )


def clear(context: RunContext, scenario: Scenario, repeat: int) -> None:
    """Remove all that the scenario created, and wait until it is gone.

    Controllers go before their pods, which they would replace; pods before nodes, which
    would leave them orphaned. The namespace is then empty, and nothing waits for it:
    the namespace controller lets five seconds pass before it looks.
    """
    namespace = namespace_of(context, scenario, repeat)
    nodes = [name for pool in scenario.node_pools for name in pool.node_names()]
    objects, wait_for = context.objects, context.observer.wait_for
    reservations = [
        name for name, one in scenario.objects.items() if one.kind == "Reservation"
    ]
    objects.delete_all("PackingPolicy")  # it would ask for further plans
    # An autoscaler would bring a controller's pods back.
    for kind in ("HorizontalPodAutoscaler", "Deployment", "ReplicaSet", "Pod"):
        objects.delete_all(kind, namespace)
    wait_for(
        f"the pods of {namespace} to go",
        pods_gone(namespace),
        timeout_s=context.timeouts.cleanup_s,
    )
    objects.delete_all("PackingPlan")
    # What is left in a namespace goes seconds later, amid the next scenario.
    for name, one in scenario.objects.items():
        objects.delete(one.kind, name, namespace=namespace)
    for name in nodes:
        objects.delete("Node", name)
    for priority in scenario.priorities:
        objects.delete("PriorityClass", priority_class_name(priority))
    objects.delete("Namespace", namespace)
    wait_for(
        f"the nodes of {scenario.scenario_id} to go",
        objects_gone("Node", nodes),
        timeout_s=context.timeouts.nodes_s(len(nodes)),
    )
    wait_for(
        f"the reservations of {scenario.scenario_id} to go",
        objects_gone("Reservation", reservations),
        timeout_s=context.timeouts.cleanup_s,
    )


def collect_pods(context: RunContext, namespace: str, node: str) -> None:
    """Delete the pods of a node that is gone.

    That is what the pod garbage collector does, which waits for most of a minute.
    """
    for pod in context.observer.read(lambda state: state.all_pods(namespace)):
        if pod.node == node:
            context.objects.delete("Pod", pod.name, namespace=namespace, at_once=True)


def _create_nodes(context: RunContext, scenario: Scenario) -> list[str]:
    count = sum(pool.count for pool in scenario.nodes)
    timeout_s = context.timeouts.nodes_s(count)
    return create_nodes(context.api, scenario.nodes, timeout_s=timeout_s)


def namespace_of(context: RunContext, scenario: Scenario, repeat: int) -> str:
    """Return the name of the namespace of one scenario run."""
    name = scenario.scenario_id.replace("/", "-").replace("@", "-").replace("_", "-")
    suffix = f"-{context.tag}-r{repeat}"
    return name.lower()[: LONGEST_NAME - len(suffix)] + suffix
