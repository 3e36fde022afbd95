from collections.abc import Mapping

import pytest
from amounts import asked, size

from stowage_testbed.api.kinds import Kind
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.scenario.manifests import (
    make_bare_pod,
    make_controller,
    make_controllers,
    make_nodes,
    make_pod_spec,
    make_pods,
    make_priority_classes,
)
from stowage_testbed.scenario.model import Scenario, Workload, WorkloadKind
from stowage_testbed.scenario.objects import make_object_spec

OF_WEB = {"stowage.dev/workload": "web"}
NODES = (NodePool("node", 2, size(4000, 4 * 10**9)),)


def a_scenario(*workload: Workload) -> Scenario:
    """Return a scenario with two nodes."""
    return Scenario("a/b", "a test", nodes=NODES, workload=workload)


def test_a_workload_becomes_a_replica_set_with_exact_requests() -> None:
    """Bytes and milli-CPU are written out: no suffix, nothing to round."""
    manifest = make_controller(
        Workload("web", 3, asked(150, 2 * 10**9), priority=5), "ns"
    )

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
    first, second = make_controllers(
        Workload("web", 3, asked(150, 0), kind="Deployment", controllers=2), "ns"
    )

    assert [one["metadata"]["name"] for one in (first, second)] == ["web-0", "web-1"]
    for one in (first, second):
        wanted = one["spec"]["selector"]["matchLabels"]
        assert wanted == one["spec"]["template"]["metadata"]["labels"]
        assert wanted["stowage.dev/workload"] == "web"
    assert first["spec"]["selector"] != second["spec"]["selector"]
    alone = Workload("web", 3, asked(150, 0))
    assert make_controllers(alone, "ns") == [make_controller(alone, "ns")]


def test_what_a_workload_says_of_its_pods_is_in_their_template() -> None:
    """Its own label stays; what takes time to end has the grace for it."""
    described = Workload(
        "web",
        1,
        asked(100, 0),
        labels={"app": "x"},
        annotations={"a": "b"},
        pod={"nodeSelector": {"disk": "ssd"}},
        ends_in_s=1.5,
    )

    template = make_controller(described, "ns")["spec"]["template"]

    assert template["metadata"] == {
        "labels": {"stowage.dev/workload": "web", "app": "x"},
        "annotations": {"a": "b", "stowage.dev/ends-in": "1500ms"},
    }
    assert template["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert template["spec"]["terminationGracePeriodSeconds"] == 2
    (container,) = template["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "100m"}


@pytest.mark.parametrize(
    ("kind", "ends_in_s", "grace_s"),
    [("Deployment", 0, 0), ("StatefulSet", 0, 1), ("StatefulSet", 2.5, 3)],
)
def test_a_pod_whose_name_comes_back_is_never_gone_without_a_trace(
    kind: WorkloadKind, ends_in_s: float, grace_s: int
) -> None:
    """Controllers that miss its end take the next pod of the name for it."""
    described = Workload("db", 1, asked(100, 0), kind=kind, ends_in_s=ends_in_s)

    template = make_controller(described, "ns")["spec"]["template"]

    assert template["spec"]["terminationGracePeriodSeconds"] == grace_s


def test_each_priority_but_zero_gets_one_priority_class() -> None:
    """Zero is the cluster's default; a class for it would be one object too many."""
    scenario = a_scenario(
        Workload("a", 1, asked(0, 0), priority=5),
        Workload("b", 1, asked(0, 0), priority=5),
        Workload("c", 1, asked(0, 0)),
        Workload("d", 1, asked(0, 0), priority=-3),
    )

    classes = make_priority_classes(scenario)

    assert [(c["metadata"]["name"], c["value"]) for c in classes] == [
        ("stowage-minus-3", -3),
        ("stowage-5", 5),
    ]


def test_the_simulator_is_given_pods_and_nodes_in_their_order() -> None:
    """It has no admission and no controllers: both are anticipated."""
    scenario = a_scenario(
        Workload("b", 2, asked(100, 0), priority=5), Workload("a", 1, asked(100, 0))
    )

    pods, nodes = make_pods(scenario, "ns"), make_nodes(scenario)

    assert [pod["metadata"]["name"] for pod in pods] == ["b-0", "b-1", "a-0"]
    assert [pod["spec"]["priority"] for pod in pods] == [5, 5, 0]
    assert [node["metadata"]["name"] for node in nodes] == ["node-0", "node-1"]


def test_a_pod_without_controller_is_like_the_workloads() -> None:
    """A burst differs from a ReplicaSet in its arrivals, not in its pods."""
    web = Workload("web", 1, asked(100, 0), priority=3)

    pod = make_bare_pod(web, "web-7", "ns", lifetime_s=0.25)

    assert pod["metadata"] == {
        "name": "web-7",
        "namespace": "ns",
        "labels": {"stowage.dev/workload": "web"},
        "annotations": {"stowage.dev/lifetime": "250ms"},
    }
    assert pod["spec"] == make_controller(web, "ns")["spec"]["template"]["spec"]
    assert "annotations" not in make_bare_pod(web, "a", "ns")["metadata"]


def test_objects_are_put_where_they_belong() -> None:
    """Reservations are the cluster's; a pod counts as a workload of its name."""
    labels = {"labels": {"a": "b"}}
    budget = make_object_spec(
        "b", {"kind": "Budget", "metadata": labels, "spec": {"min": 1}}
    )
    room = make_object_spec("r", {"kind": "Room", "spec": {"owners": []}})
    lone = make_object_spec("lone", {"kind": "Pod", "metadata": labels, "spec": {}})

    assert budget.in_namespace(a_kind("Budget"), "ns") == {
        "apiVersion": "example.com/v1",
        "kind": "Budget",
        "metadata": {"name": "b", "namespace": "ns", "labels": {"a": "b"}},
        "spec": {"min": 1},
    }
    wide = room.in_namespace(a_kind("Room", namespaced=False), "ns")
    assert "namespace" not in wide["metadata"]
    assert lone.in_namespace(a_kind("Pod"), "ns")["metadata"]["labels"] == {
        "a": "b", "stowage.dev/workload": "lone",
    }  # fmt: skip


def test_pods_of_a_kind_that_nobody_here_knows_are_a_workload_too() -> None:
    """Whatever has a template with containers makes pods of it."""
    pod = {"spec": {"containers": [{"name": "main"}]}}
    job = make_object_spec(
        "train", {"kind": "Job", "spec": {"tasks": [{"template": pod}]}}
    )

    made = job.in_namespace(a_kind("Job"), "ns")

    (task,) = made["spec"]["tasks"]
    assert task["template"]["metadata"]["labels"] == {"stowage.dev/workload": "train"}
    assert "metadata" not in pod


@pytest.mark.parametrize(
    ("kind", "spec", "pods"),
    [
        ("Pod", {}, 1),
        ("StatefulSet", {"replicas": 3}, 3),
        ("Deployment", {}, 1),
        ("Job", {"parallelism": 4, "completions": 2}, 2),
        ("Job", {"parallelism": 4}, 4),
        ("PodDisruptionBudget", {"minAvailable": 1}, 0),
    ],
)
def test_an_object_says_how_many_pods_come_with_it(
    kind: str, spec: Mapping[str, int], pods: int
) -> None:
    """Waits are for so many, and expectations are held against them."""
    assert make_object_spec("a", {"kind": kind, "spec": spec}).pods == pods


def a_kind(name: str, *, namespaced: bool = True) -> Kind:
    """Return a kind as a server would tell it."""
    return Kind("example.com/v1", name, "things", namespaced, frozenset(), True)


@pytest.mark.parametrize(
    ("kind", "version", "spec"),
    [
        ("StatefulSet", "apps/v1", {"replicas": 3, "serviceName": "web"}),
        ("DaemonSet", "apps/v1", {"selector": {"matchLabels": OF_WEB}}),
        ("Job", "batch/v1", {"parallelism": 3, "completions": 3}),
    ],
)
def test_each_kind_of_controller_is_written_as_it_wants(
    kind: WorkloadKind, version: str, spec: Mapping[str, object]
) -> None:
    """What the API demands of one it refuses of another."""
    web = Workload("web", 3, asked(100, 10**9), kind=kind, spec={"own": True})

    (made,) = make_controllers(web, "ns")

    assert (made["apiVersion"], made["kind"]) == (version, kind)
    assert made["spec"].items() >= {**spec, "own": True}.items()
    assert ("replicas" in made["spec"]) == (kind == "StatefulSet")
    assert made["spec"]["template"]["metadata"]["labels"] == OF_WEB


def test_a_cron_job_makes_jobs_of_its_pods() -> None:
    """None of them is there before its time has come."""
    web = Workload(
        "web", 2, asked(0, 0), kind="CronJob", spec={"schedule": "0 * * * *"}
    )

    (made,) = make_controllers(web, "ns")

    job = made["spec"]["jobTemplate"]["spec"]
    assert made["spec"]["schedule"] == "0 * * * *"
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert web.pods == 0


def test_pods_without_a_controller_have_names_of_their_own() -> None:
    """They sort as numbers, like nodes."""
    lone = Workload("web", 11, asked(0, 0), kind="Pod", runs_s=0.5)

    made = make_controllers(lone, "ns")

    assert [one["metadata"]["name"] for one in made][::10] == ["web-00", "web-10"]
    assert made[0]["metadata"]["annotations"] == {"stowage.dev/lifetime": "500ms"}


def test_what_cannot_be_given_out_twice_is_limited_too() -> None:
    """The API refuses a pod that asks for a GPU and has no limit of it."""
    own = {"nvidia.com/gpu": 2, "ephemeral-storage": 10}
    gpu = Workload("web", 1, asked(500, 0, own))

    (container,) = make_pod_spec(gpu)["containers"]

    assert container["resources"] == {
        "requests": {"cpu": "500m", "nvidia.com/gpu": "2", "ephemeral-storage": "10"},
        "limits": {"nvidia.com/gpu": "2"},
    }


def test_each_of_several_controllers_knows_its_own_pods() -> None:
    """Whatever kind they are of."""
    jobs = Workload("web", 1, asked(0, 0), kind="Job", controllers=2)

    made = make_controllers(jobs, "ns")

    labels = [one["spec"]["template"]["metadata"]["labels"] for one in made]
    assert [one["stowage.dev/controller"] for one in labels] == ["web-0", "web-1"]
