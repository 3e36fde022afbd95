"""Plans that a person asks for, reviews, and has carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes.client import ApiException, AppsV1Api, CustomObjectsApi
from release_scene import Scene
from typer.testing import CliRunner

from testbed.cli import app
from testbed.observe.change import JsonObject
from testbed.plan import PlanApi
from testbed.plan.errors import PlanMissingError, PlanPhaseError
from testbed.wait import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

PLANS = ("stowage.dev", "v1alpha1", "packingplans")
SIZES_GB = {"first": 2, "second": 2, "third": 3}


@pytest.fixture
def figure_1(scene: Scene) -> Iterator[Scene]:
    """Return the scene with figure 1's pods, the third of which does not fit."""
    apps = AppsV1Api(scene.client)
    for name in ("first", "second"):
        apps.create_namespaced_replica_set("default", _replica_set(name))
        _until(scene, f"{name} to run", _runs(name))
    apps.create_namespaced_replica_set("default", _replica_set("third"))
    _until(scene, "third to be there", lambda on: on.get("third") == "")
    yield scene
    for name in SIZES_GB:
        apps.delete_namespaced_replica_set(name, "default")
    _until(scene, "the pods to be gone", lambda on: not on)


def _replica_set(name: str) -> Any:
    requests = {"cpu": "100m", "memory": f"{SIZES_GB[name]}G"}
    container = {"name": "c", "image": "none", "resources": {"requests": requests}}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [container],
                },
            },
        },
    }


def _runs(name: str) -> Callable[[dict[str, str]], bool]:
    return lambda nodes: bool(nodes.get(name))


def _nodes(scene: Scene) -> dict[str, str]:
    """Return the node of each ReplicaSet's pod, empty while it waits."""
    pods = scene.core.list_namespaced_pod("default").items
    return {
        pod.metadata.labels["app"]: pod.spec.node_name or ""
        for pod in pods
        if pod.metadata.deletion_timestamp is None
    }


def _until(scene: Scene, what: str, holds: Callable[[dict[str, str]], bool]) -> None:
    wait_until(what, lambda: _nodes(scene), holds, timeout_s=20)


def _ask(scene: Scene, name: str, **spec: object) -> None:
    CustomObjectsApi(scene.client).create_cluster_custom_object(
        *PLANS,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPlan",
            "metadata": {"name": name},
            "spec": spec,
        },
    )


def _wait_for(scene: Scene, name: str, phase: str) -> JsonObject:
    plans = PlanApi(scene.client)
    return wait_until(
        f"plan {name} to be {phase}",
        lambda: plans.plan(name),
        lambda plan: plan.get("status", {}).get("phase") == phase,
        timeout_s=20,
    )


def _stowage(scene: Scene, *arguments: str) -> str:
    cluster = ["--cluster", scene.cluster.name]
    result = CliRunner().invoke(app, ["plan", *arguments, *cluster])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_proposal_is_reviewed_approved_and_carried_out(figure_1: Scene) -> None:
    """The plan that was reviewed is the one that is carried out."""
    before = _nodes(figure_1)
    _ask(figure_1, "reviewed", mode="DryRun")
    proposed = _wait_for(figure_1, "reviewed", "Proposed")
    page = _stowage(figure_1, "show", "reviewed")

    assert _nodes(figure_1) == before
    (move,) = proposed["status"]["moves"]
    assert f"move    {move['pod']}" in page
    assert "Verified" in page

    _stowage(figure_1, "approve", "reviewed")
    done = _wait_for(figure_1, "reviewed", "Completed")

    after = _nodes(figure_1)
    assert all(after.values())
    assert after["third"] == move["fromNode"]
    assert [one["state"] for one in done["status"]["moves"]] == ["Bound"]
    assert {one["type"]: one["status"] for one in done["status"]["conditions"]} == {
        "Solved": "True",
        "Verified": "True",
        "Executed": "True",
    }


def test_a_proposal_that_is_given_up_moves_nobody(figure_1: Scene) -> None:
    """After an abort nothing of the plan may happen, also not by an approval."""
    before = _nodes(figure_1)
    _ask(figure_1, "unwanted", mode="DryRun")
    _wait_for(figure_1, "unwanted", "Proposed")

    _stowage(figure_1, "abort", "unwanted")
    _wait_for(figure_1, "unwanted", "Aborted")

    with pytest.raises(PlanPhaseError, match="only a proposal can be approved"):
        PlanApi(figure_1.client).approve("unwanted")
    with pytest.raises(PlanPhaseError, match="nothing to give up"):
        PlanApi(figure_1.client).abort("unwanted")
    assert _nodes(figure_1) == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trigger": "Periodic"}, "trigger of a PackingPlan cannot be changed"),
        ({"timeLimitSeconds": 9}, "time limit of a PackingPlan cannot be changed"),
        ({"mode": "DryRun"}, "cannot be turned into a dry run"),
        ({"abort": False}, "an abort cannot be taken back"),
    ],
)
def test_what_was_asked_for_cannot_be_changed(
    scene: Scene, change: dict[str, object], reason: str
) -> None:
    """The object says what was done, so it must not be made to say something else."""
    plans = CustomObjectsApi(scene.client)
    name = f"fixed-{next(iter(change)).lower()}"
    _ask(scene, name, mode="Execute", timeLimitSeconds=1, abort=True)

    with pytest.raises(ApiException) as refused:
        plans.patch_cluster_custom_object(*PLANS, name, {"spec": change})

    assert reason in str(refused.value.body)


def test_a_plan_that_does_not_exist_is_named(scene: Scene) -> None:
    """A typing error must not look like an empty cluster."""
    with pytest.raises(PlanMissingError, match="'nobody'"):
        PlanApi(scene.client).plan("nobody")
