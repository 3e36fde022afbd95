"""What the pods of a scenario wear for a scheduler under comparison."""

from __future__ import annotations

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.run.steps.dress import dressed
from stowage_testbed.scenario.manifests import (
    WORKLOAD_LABEL,
    bare_pod_manifest,
    object_manifest,
    workload_manifest,
)
from stowage_testbed.scenario.model import ObjectSpec, Workload

WEB = Workload("web", 2, 100, 10**9, labels={"queue": "mine"})
DRESS = Dress(
    "yunikorn", labels={"queue": "theirs", "applicationId": "a"}, annotations={"x": "y"}
)


def test_without_a_dress_nothing_is_changed() -> None:
    """`stowage run` uses the scheduler that every pod asks for by default."""
    manifest = workload_manifest(WEB, "ns")

    assert dressed(manifest, None) is manifest


def test_the_pods_of_a_controller_are_dressed() -> None:
    """Its own labels, by which it finds its pods, stay as they are."""
    manifest = dressed(workload_manifest(WEB, "ns"), DRESS)

    template = manifest["spec"]["template"]
    assert template["spec"]["schedulerName"] == "yunikorn"
    assert template["metadata"]["annotations"] == {"x": "y"}
    assert template["metadata"]["labels"] == {
        WORKLOAD_LABEL: "web", "queue": "mine", "applicationId": "a",
    }  # fmt: skip
    assert "applicationId" not in manifest["metadata"]["labels"]
    assert manifest["spec"]["selector"]["matchLabels"] == {WORKLOAD_LABEL: "web"}


def test_pods_without_a_controller_are_dressed_too() -> None:
    """Those of bursts and traces, and those that are written out."""
    burst = dressed(bare_pod_manifest(WEB, "web-0", "ns", 1.5), DRESS)
    lone = ObjectSpec("lone", "Pod", {"containers": []})
    written = dressed(object_manifest(lone, "ns"), DRESS)

    for pod in (burst, written):
        assert pod["spec"]["schedulerName"] == "yunikorn"
        assert pod["metadata"]["labels"]["applicationId"] == "a"
    assert burst["metadata"]["annotations"] == {
        "stowage.dev/lifetime": "1500ms", "x": "y",
    }  # fmt: skip


def test_a_reservation_is_no_pod() -> None:
    """Only its owners are placed by the scheduler under comparison."""
    room = ObjectSpec("room", "Reservation", {"template": {"spec": {}}, "owners": []})
    manifest = object_manifest(room, "ns")

    assert dressed(manifest, DRESS) == manifest


def test_the_scenario_is_not_changed() -> None:
    """The same manifest is dressed for the next scheduler."""
    manifest = workload_manifest(WEB, "ns")

    dressed(manifest, DRESS)

    assert manifest == workload_manifest(WEB, "ns")
