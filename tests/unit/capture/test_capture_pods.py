"""Pods are told by their controllers, also where those were not read."""

from __future__ import annotations

from found_cluster import found, node, pod, replicas, thing

from stowage_testbed.capture.workloads import CapturedWorkload, capture_pods


def capture(*objects: dict[str, object]) -> dict[str, CapturedWorkload]:
    return {
        one.name: one for one in capture_pods(found(node("n0"), *objects)).workloads
    }


def test_a_list_of_pods_alone_tells_their_deployment() -> None:
    """`kubectl get nodes,pods,pdb` lists no controllers."""
    web = capture(*replicas("web", ["n0", "n0", ""]))["web"]

    assert web.kind == "Deployment"
    assert web.nodes == ("n0", "n0", "")
    assert web.template.labels == {"app": "web"}


def test_the_revisions_of_a_rollout_are_workloads_of_their_own() -> None:
    """Half of the pods ask for more than the other half."""
    old = replicas("web", ["n0"], template_hash="aaaa")
    new = replicas("web", ["n0", ""], template_hash="bbbb", cpu="2")

    made = capture(*old, *new)

    assert {name: len(one.pods) for name, one in made.items()} == {"web": 1, "web-2": 2}


def test_claims_of_a_stateful_set_are_its_templates() -> None:
    """Each pod has its own, which it finds by its name."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    shared = {"name": "all", "persistentVolumeClaim": {"claimName": "common"}}
    spec = {"storageClassName": "fast", "volumeName": "pv-1", "accessModes": ["RWO"]}

    db = capture(
        pod("db-0", "n0", owner=("StatefulSet", "db"), volumes=[volume, shared]),
        thing("PersistentVolumeClaim", "data-db-0", spec=spec),
    )["db"]

    (claim,) = db.claims
    assert claim["metadata"] == {"name": "data"}
    assert claim["spec"]["storageClassName"] == "fast"
    assert "volumeName" not in claim["spec"]
    assert [one["name"] for one in db.template.spec["volumes"]] == ["all"]


def test_a_daemon_keeps_what_all_its_pods_ask_for() -> None:
    """Each of them is held to one node, and the next one to another."""
    term = {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}],
        "matchExpressions": [{"key": "gpu", "operator": "Exists"}],
    }
    required = {"nodeSelectorTerms": [term]}
    affinity = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
    }

    made = capture(
        pod("a-1", "n0", owner=("DaemonSet", "a"), affinity=affinity),
        pod("b-1", "n0", owner=("DaemonSet", "b"), affinity={
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": term["matchFields"]}]}}}),
    )  # fmt: skip

    kept = made["a"].template.spec["affinity"]["nodeAffinity"]
    assert kept["requiredDuringSchedulingIgnoredDuringExecution"] == {
        "nodeSelectorTerms": [{"matchExpressions": term["matchExpressions"]}]
    }
    assert "affinity" not in made["b"].template.spec


def test_what_the_server_took_from_a_pods_own_labels_is_taken_out() -> None:
    """The hash of the next template is another one."""
    own = {"key": "pod-template-hash", "operator": "In", "values": ["6f5c"]}
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [own]},
        "matchLabelKeys": ["pod-template-hash"],
    }

    web = capture(*replicas("web", ["n0"], topologySpreadConstraints=[spread]))["web"]

    (kept,) = web.template.spec["topologySpreadConstraints"]
    assert kept["labelSelector"] == {"matchLabels": {"app": "web"}}
    assert kept["matchLabelKeys"] == ["pod-template-hash"]


def test_equal_pods_without_a_controller_are_one_workload() -> None:
    """What nobody here brings again counts as a pod."""
    owner = ("RayCluster", "ray")
    workers = [
        pod(f"ray-worker-{n}", "n0", owner=owner, labels={"r": "1"}) for n in range(3)
    ]

    made = capture(*workers, pod("other", "n0"))

    assert {one.name: (one.kind, len(one.pods)) for one in made.values()} == {
        "ray-worker": ("Pod", 3),
        "other": ("Pod", 1),
    }


def test_pods_that_have_ended_take_no_part() -> None:
    """They hold no room; those about to end are told of."""
    ended, ending = pod("ended", "n0"), pod("ending", "n0")
    ended["status"]["phase"] = "Succeeded"
    ending["metadata"]["deletionTimestamp"] = "2026-11-26T12:00:00Z"

    captured = capture_pods(found(node("n0"), ended, ending))

    assert captured.workloads == []
    assert captured.remarks == ["1 pods that were about to end"]


def test_workloads_of_several_namespaces_have_names_of_their_own() -> None:
    """A run has one namespace."""
    made = capture(
        *replicas("web", ["n0"], namespace="a"), *replicas("web", ["n0"], namespace="b")
    )

    assert list(made) == ["a-web", "b-web"]
