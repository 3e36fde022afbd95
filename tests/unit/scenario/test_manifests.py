from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.manifests import (
    bare_pod_manifest,
    controller_manifests,
    node_manifests,
    object_manifest,
    pod_manifests,
    priority_class_manifests,
    workload_manifest,
)
from stowage_testbed.scenario.model import ObjectSpec, Scenario, Workload

NODES = (NodePool("node", 2, 4000, 4 * 10**9),)


def a_scenario(*workload: Workload) -> Scenario:
    """Return a scenario with two nodes."""
    return Scenario("a/b", "a test", nodes=NODES, workload=workload)


def test_a_workload_becomes_a_replica_set_with_exact_requests() -> None:
    """Bytes and milli-CPU are written out: no suffix, nothing to round."""
    manifest = workload_manifest(Workload("web", 3, 150, 2 * 10**9, priority=5), "ns")

    spec = manifest["spec"]
    assert (manifest["kind"], spec["replicas"]) == ("ReplicaSet", 3)
    assert spec["selector"]["matchLabels"] == {"stowage.dev/workload": "web"}
    assert spec["template"]["spec"]["priorityClassName"] == "stowage-5"
    assert spec["template"]["spec"]["containers"] == [
        {
            "name": "main",
            "image": "pause",
            "resources": {"requests": {"cpu": "150m", "memory": "2000000000"}},
        }
    ]


def test_controllers_of_one_workload_do_not_take_each_others_pods() -> None:
    """Selectors that overlap make controllers fight over pods."""
    first, second = controller_manifests(
        Workload("web", 3, 150, 0, kind="Deployment", controllers=2), "ns"
    )

    assert [one["metadata"]["name"] for one in (first, second)] == ["web-0", "web-1"]
    for one in (first, second):
        wanted = one["spec"]["selector"]["matchLabels"]
        assert wanted == one["spec"]["template"]["metadata"]["labels"]
        assert wanted["stowage.dev/workload"] == "web"
    assert first["spec"]["selector"] != second["spec"]["selector"]


def test_a_single_controller_has_the_workloads_own_name() -> None:
    """A scenario that says nothing of controllers is as it was."""
    web = Workload("web", 3, 150, 0)

    assert controller_manifests(web, "ns") == [workload_manifest(web, "ns")]


def test_further_labels_do_not_displace_the_workload_label() -> None:
    """Without it the selector would not match and no pod would be counted."""
    labelled = Workload("web", 1, 0, 0, labels={"app": "x"}, annotations={"a": "b"})

    template = workload_manifest(labelled, "ns")["spec"]["template"]

    assert template["metadata"] == {
        "labels": {"stowage.dev/workload": "web", "app": "x"},
        "annotations": {"a": "b"},
    }


def test_pod_fields_are_merged_into_the_spec() -> None:
    """What the language does not name itself is Kubernetes' own."""
    selected = Workload("web", 1, 100, 0, pod={"nodeSelector": {"disk": "ssd"}})

    spec = workload_manifest(selected, "ns")["spec"]["template"]["spec"]

    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "100m"}


def test_each_priority_but_zero_gets_one_priority_class() -> None:
    """Zero is the cluster's default; a class for it would be one object too many."""
    scenario = a_scenario(
        Workload("a", 1, 0, 0, priority=5),
        Workload("b", 1, 0, 0, priority=5),
        Workload("c", 1, 0, 0),
        Workload("d", 1, 0, 0, priority=-3),
    )

    classes = priority_class_manifests(scenario)

    assert [(c["metadata"]["name"], c["value"]) for c in classes] == [
        ("stowage-minus-3", -3),
        ("stowage-5", 5),
    ]


def test_pods_for_the_simulator_come_in_the_order_of_arrival() -> None:
    """The simulator has no admission and no controllers: both are anticipated."""
    scenario = a_scenario(
        Workload("b", 2, 100, 0, priority=5), Workload("a", 1, 100, 0)
    )

    pods = pod_manifests(scenario, "ns")

    assert [pod["metadata"]["name"] for pod in pods] == ["b-0", "b-1", "a-0"]
    assert [pod["spec"]["priority"] for pod in pods] == [5, 5, 0]


def test_nodes_for_the_simulator_come_in_the_order_of_creation() -> None:
    """The scheduler's cache lists nodes in the order in which it learns of them."""
    nodes = node_manifests(a_scenario(Workload("a", 1, 0, 0)))
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]


def test_a_pod_that_takes_time_to_end_has_the_grace_for_it() -> None:
    """Without it the API server would remove the pod at once."""
    slow = Workload("web", 1, 0, 0, ends_in_s=1.5)

    template = workload_manifest(slow, "ns")["spec"]["template"]

    assert template["spec"]["terminationGracePeriodSeconds"] == 2
    assert template["metadata"]["annotations"] == {"stowage.dev/ends-in": "1500ms"}


def test_a_pod_without_controller_is_like_the_workloads() -> None:
    """A burst differs from a ReplicaSet in its arrivals, not in its pods."""
    web = Workload("web", 1, 100, 0, priority=3)

    pod = bare_pod_manifest(web, "web-7", "ns", lifetime_s=0.25)

    assert pod["metadata"] == {
        "name": "web-7",
        "namespace": "ns",
        "labels": {"stowage.dev/workload": "web"},
        "annotations": {"stowage.dev/lifetime": "250ms"},
    }
    assert pod["spec"] == workload_manifest(web, "ns")["spec"]["template"]["spec"]
    assert "annotations" not in bare_pod_manifest(web, "a", "ns")["metadata"]


def test_objects_are_put_where_they_belong() -> None:
    """Reservations are the cluster's, all others the run's own."""
    budget = ObjectSpec("b", "PodDisruptionBudget", {"minAvailable": 1}, {"a": "b"})
    room = ObjectSpec("r", "Reservation", {"owners": []})

    assert object_manifest(budget, "ns") == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": "b", "namespace": "ns", "labels": {"a": "b"}, "annotations": {},
        },
        "spec": {"minAvailable": 1},
    }  # fmt: skip
    assert "namespace" not in object_manifest(room, "ns")["metadata"]


def test_a_pod_that_is_written_out_counts_as_a_workload() -> None:
    """Expectations name it like one."""
    lone = ObjectSpec("lone", "Pod", {"containers": []}, {"a": "b"})

    assert object_manifest(lone, "ns")["metadata"]["labels"] == {
        "a": "b", "stowage.dev/workload": "lone",
    }  # fmt: skip
