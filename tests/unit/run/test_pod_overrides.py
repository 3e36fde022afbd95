"""What a scheduler under comparison overrides in the pods of a scenario."""

from __future__ import annotations

from amounts import asked

from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.run.arm import PodOverrides, apply_overrides
from stowage_testbed.scenario.manifests import (
    make_bare_pod,
    make_controller,
)
from stowage_testbed.scenario.model import Workload

WEB = Workload("web", 2, asked(100, 10**9), labels={"queue": "mine"})
OVERRIDES = PodOverrides(
    "yunikorn", labels={"queue": "theirs", "applicationId": "a"}, annotations={"x": "y"}
)


def test_without_overrides_nothing_is_changed() -> None:
    """`stowage run` uses the scheduler that every pod asks for by default."""
    manifest = make_controller(WEB, "ns")

    assert apply_overrides(manifest, None) is manifest


def test_the_pods_of_a_controller_are_overridden() -> None:
    """Its own labels, by which it finds its pods, stay as they are."""
    manifest = apply_overrides(make_controller(WEB, "ns"), OVERRIDES)

    template = manifest["spec"]["template"]
    assert template["spec"]["schedulerName"] == "yunikorn"
    assert template["metadata"]["annotations"] == {"x": "y"}
    assert template["metadata"]["labels"] == {
        WORKLOAD_LABEL: "web", "queue": "mine", "applicationId": "a",
    }  # fmt: skip
    assert "applicationId" not in manifest["metadata"]["labels"]
    assert manifest["spec"]["selector"]["matchLabels"] == {WORKLOAD_LABEL: "web"}


def test_pods_without_a_controller_are_overridden_too() -> None:
    """Those of bursts and traces, and those that are written out."""
    burst = apply_overrides(make_bare_pod(WEB, "web-0", "ns", 1.5), OVERRIDES)
    lone = {"kind": "Pod", "metadata": {"labels": {}}, "spec": {"containers": []}}
    written = apply_overrides(lone, OVERRIDES)

    for pod in (burst, written):
        assert pod["spec"]["schedulerName"] == "yunikorn"
        assert pod["metadata"]["labels"]["applicationId"] == "a"
    assert burst["metadata"]["annotations"] == {
        "stowage.dev/lifetime": "1500ms", "x": "y",
    }  # fmt: skip


def test_a_reservation_is_no_pod() -> None:
    """Only its owners are placed by the scheduler under comparison."""
    template = {"spec": {"containers": [{"name": "main"}]}}
    manifest = {"kind": "Reservation", "spec": {"template": template, "owners": []}}

    assert apply_overrides(manifest, OVERRIDES) == manifest


def test_the_scenario_is_not_changed() -> None:
    """The same manifest gets the next scheduler's overrides."""
    manifest = make_controller(WEB, "ns")

    apply_overrides(manifest, OVERRIDES)

    assert manifest == make_controller(WEB, "ns")
