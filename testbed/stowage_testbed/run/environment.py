"""The environment of one scenario run: a fresh namespace and fresh nodes."""

from collections.abc import Iterable, Iterator
from functools import partial

from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster.device_pools import CLAIMS, create_classes, delete_classes
from stowage_testbed.cluster.node_pool import create_ready, devices_by_node
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.condition import objects_gone, pods_gone
from stowage_testbed.observe.source import DEVICE_SOURCES, RESOURCE_CLAIMS
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.manifests import make_priority_classes, name_priority_class
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.context import await_account, delete_object, none_left
from stowage_testbed.scenario.steps.nodes import list_slices
from stowage_testbed.scenario.steps.replaying import list_recorded

LONGEST_NAME = 63


def prepare(context: RunContext, scenario: Scenario, namespace: str) -> None:
    """Make namespace, priority classes and nodes, which are ready on return."""
    make_namespace(context, namespace)
    for manifest in make_priority_classes(scenario):
        context.objects.create(manifest, or_keep=True)
    # An older cluster, whose devices are of another version, serves nothing that these read.
    if scenario.has_claims and context.objects.kinds.find_served(CLAIMS):
        for source in DEVICE_SOURCES:
            context.observer.watch(source)
    create_classes(context.objects, scenario.devices, _label_run(namespace))
    timeout_s = timeouts.nodes_s(len(scenario.first_nodes))
    create_ready(context.api, scenario.first_nodes, devices_by_node(scenario.nodes), timeout_s=timeout_s)
    await_account(context.observer, namespace)


def check_node_names(context: RunContext, scenario: Scenario) -> None:
    """Raise a StowageError if a node of the scenario cannot be made, as one is called so."""
    wanted = set(scenario.node_names)
    there = (one["metadata"]["name"] for one in context.objects.list_all("Node"))
    for name in sorted(wanted.intersection(there)):
        raise StowageError(
            f"the cluster has a node {name} already, which is left as it is; run on a "
            "cluster of its own (leave out --cluster), or name the nodes otherwise"
        )


def make_namespace(context: RunContext, name: str) -> None:
    """Create a namespace, which takes pods once `await_account` has returned."""
    context.objects.create(make_manifest("v1", "Namespace", name))


def clear(context: RunContext, scenario: Scenario, namespace: str) -> None:
    """Remove all that the scenario created, and wait until it is gone.

    Objects go before controllers, since an autoscaler would bring pods back; those before their pods, and pods before
    nodes, which would leave them orphaned. The namespace is then empty, and nothing waits for it: the namespace
    controller lets five seconds pass before it looks.
    """
    nodes, recorded = scenario.node_names, tuple(list_recorded(scenario.steps))
    objects, wait_for = context.objects, context.observer.wait_for
    # The last first: what an object needs was made before it.
    wide = list(_delete_objects(context, scenario, namespace))
    controllers = {"Deployment"}.union(*(one.controllers for one in recorded))
    controllers |= {one.kind for one in scenario.workload}
    replayed = [pair for one in recorded for pair in one.wide]
    for kind in (*sorted(controllers - {"ReplicaSet", "Pod"}), "ReplicaSet"):
        objects.delete_all(kind, namespace)
    # A pod that waits would be given the room of those that go. If it goes as well in the middle of that, the scheduler
    # may count its devices as taken until it is restarted (Kubernetes 1.37.2).
    objects.delete_all("Pod", namespace, fields="spec.nodeName=")
    objects.delete_all("Pod", namespace)
    wait_for(f"the pods of {namespace} to go", pods_gone(namespace), timeout_s=timeouts.CLEANUP_S)
    kinds = {item.kind for item in scenario.objects.values()}
    kinds |= {kind.rpartition("/")[2] for kind, _ in replayed}
    if "PersistentVolume" in kinds:
        # They stay as long as their claims, which the namespace would keep longer.
        objects.delete_all("PersistentVolumeClaim", namespace)
    if scenario.has_claims:
        # What one has been given is nobody else's, also on the next node of that name.
        objects.delete_all(CLAIMS, namespace)
        gone = none_left(lambda state: [name_of(one) for one in state.bodies(RESOURCE_CLAIMS.kind, namespace)])
        wait_for(f"the claims of {namespace} to go", gone, timeout_s=timeouts.CLEANUP_S)
    clear_plans(context)
    for name in nodes:
        objects.delete("Node", name)
    for kind, name in reversed(replayed):
        objects.delete(kind, name)
    for priority in scenario.priorities:
        objects.delete("PriorityClass", name_priority_class(priority))
    objects.delete("Namespace", namespace)
    timeout_s = timeouts.nodes_s(len(nodes))
    wait_for(f"the nodes of {scenario.scenario_id} to go", objects_gone("Node", nodes), timeout_s=timeout_s)
    what = f"the objects of {scenario.scenario_id} to go"
    list_left = partial(_list_left, objects, (*wide, *replayed))
    wait_until(what, list_left, lambda left: not left, timeout_s=timeouts.CLEANUP_S)
    if scenario.devices:
        delete_classes(objects, _label_run(namespace))
        gone = none_left(lambda state: list_slices(state, nodes))
        wait_for(f"the devices of {scenario.scenario_id} to go", gone, timeout_s=timeouts.CLEANUP_S)


def _label_run(namespace: str) -> dict[str, str]:
    """Return the label of device classes that one run brought; others' stay."""
    return {"stowage.dev/run": namespace}


def clear_plans(context: RunContext) -> None:
    """Take all plans away: those of one run must not count for another."""
    names = context.observer.read(lambda state: [one.name for one in state.plans()])
    context.objects.delete_all("PackingPlan")
    gone = objects_gone("PackingPlan", names)
    context.observer.wait_for("the plans to go", gone, timeout_s=timeouts.CLEANUP_S)


def _list_left(objects: Objects, wide: Iterable[tuple[str, str]]) -> list[str]:
    """Return which of these objects are there, and kinds whose definition has gone."""
    left = []
    for kind, name in wide:
        if objects.exists(kind, name):
            left.append(f"{kind} {name}")
        elif kind.endswith(f"/{DEFINITION}"):
            objects.kinds.look_again()
            if name in {f"{one.plural}.{one.group}" for one in objects.kinds.all()}:
                left.append(f"what {name} defines")
    return left


def _delete_objects(context: RunContext, scenario: Scenario, namespace: str) -> Iterator[tuple[str, str]]:
    """Delete the scenario's objects; yield kind and name of those in no namespace.

    What is in one goes with it, seconds later.
    """
    for item in reversed(list(scenario.objects.values())):
        if item.kind == DEFINITION:
            spec = item.manifest["spec"]
            context.observer.unwatch(f"{spec['names']['kind']}.{spec['group']}")
        kind = delete_object(context.objects, item, namespace)
        if kind is None:
            continue
        name, where = item.object_name, item.namespace or namespace
        has_finalizers = item.manifest["metadata"].get("finalizers")
        if has_finalizers and context.objects.exists(kind.full_name, name, namespace=where):
            # Nobody else here would take them off.
            context.objects.patch(kind.full_name, name, {"metadata": {"finalizers": None}}, namespace=where)
        if not kind.namespaced:
            yield kind.full_name, name


def name_namespace(context: RunContext, scenario: Scenario, repeat: int) -> str:
    """Return the name of the namespace of one scenario run."""
    name = scenario.scenario_id.replace("/", "-").replace("@", "-").replace("_", "-")
    suffix = f"-{context.tag}-r{repeat}"
    return name.lower()[: LONGEST_NAME - len(suffix)] + suffix
