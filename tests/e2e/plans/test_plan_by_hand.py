"""Plans that a person asks for and approves, and objects that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest
from figure_1_cluster import nodes, wait_for
from kubernetes.client import ApiException, CustomObjectsApi
from release_environment import ReleaseEnvironment
from typer.testing import CliRunner

from stowage_testbed.cli import app

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

GROUP = ("stowage.dev", "v1alpha1")
REQUESTS = {"requests": {"cpu": "100m", "memory": "1G"}}
RESERVATION = {
    "template": {
        "spec": {"containers": [{"name": "c", "image": "none", "resources": REQUESTS}]}
    },
    "owners": [{"labelSelector": {"matchLabels": {"app": "shop"}}}],
}


def _create(
    environment: ReleaseEnvironment, kind: str, name: str, spec: dict[str, Any]
) -> None:
    body = {
        "apiVersion": "/".join(GROUP),
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    api = CustomObjectsApi(environment.client)
    api.create_cluster_custom_object(*GROUP, f"{kind.lower()}s", body)


def _stowage(environment: ReleaseEnvironment, *arguments: str) -> str:
    cluster = ["--cluster", environment.cluster.name]
    result = CliRunner().invoke(app, ["plan", *arguments, *cluster])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_proposal_is_reviewed_approved_and_carried_out(
    figure_1: ReleaseEnvironment,
) -> None:
    """The plan that was reviewed is the one that is carried out."""
    before = nodes(figure_1)
    _create(figure_1, "PackingPlan", "reviewed", {"executionMode": "DryRun"})
    proposed = wait_for(figure_1, "reviewed", "Proposed")
    page = _stowage(figure_1, "show", "reviewed")
    (listed,) = (
        line.split()
        for line in _stowage(figure_1, "list").splitlines()
        if line.startswith("reviewed")
    )

    assert nodes(figure_1) == before
    (move,) = proposed["status"]["moves"]
    assert f"move    {move['pod']}" in page
    assert listed[2:] == ["Proposed", "DryRun", "Place", "1", "1", "0", "yes"]

    _stowage(figure_1, "approve", "reviewed")
    done = wait_for(figure_1, "reviewed", "Completed")

    assert nodes(figure_1)["third"] == move["fromNode"]
    assert [one["state"] for one in done["status"]["moves"]] == ["Bound"]
    assert {one["type"]: one["status"] for one in done["status"]["conditions"]} == {
        "Solved": "True",
        "Optimal": "True",
        "Verified": "True",
        "Executed": "True",
    }


def test_a_proposal_that_is_given_up_moves_no_pod(figure_1: ReleaseEnvironment) -> None:
    """Whoever asks without a mode gets a proposal, which an abort ends."""
    before = nodes(figure_1)
    _create(figure_1, "PackingPlan", "unwanted", {})
    proposed = wait_for(figure_1, "unwanted", "Proposed")

    _stowage(figure_1, "abort", "unwanted")
    wait_for(figure_1, "unwanted", "Aborted")

    assert proposed["spec"] == {"executionMode": "DryRun", "trigger": "Manual"}
    assert nodes(figure_1) == before


@pytest.mark.parametrize(
    ("kind", "spec", "reason"),
    [
        ("PackingPlan", {"executionMode": "Now"}, 'Unsupported value: \\"Now\\"'),
        ("PackingPlan", {"timeLimitSeconds": 0}, "timeLimitSeconds"),
        ("Reservation", {"owners": []}, "spec.owners"),
        ("Reservation", {"owners": [{}]}, "an owner names an object, a controller or"),
        (
            "Reservation",
            {"ttl": "1h", "expires": "2030-01-01T00:00:00Z"},
            "exclude each other",
        ),
        ("Reservation", {"ttl": "soon"}, "spec.ttl"),
    ],
)
def test_an_object_that_cannot_be_meant_is_refused(
    environment: ReleaseEnvironment, kind: str, spec: dict[str, Any], reason: str
) -> None:
    """A mistake is reported at once, not found in a log after the peak."""
    whole = {**RESERVATION, **spec} if kind == "Reservation" else spec
    with pytest.raises(ApiException) as refused:
        _create(environment, kind, "broken", whole)

    assert reason in str(refused.value.body)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"trigger": "Periodic"}, "trigger of a PackingPlan cannot be changed"),
        ({"timeLimitSeconds": 9}, "time limit of a PackingPlan cannot be changed"),
        ({"executionMode": "DryRun"}, "cannot be turned into a dry run"),
        ({"abort": False}, "an abort cannot be taken back"),
    ],
)
def test_what_was_asked_for_cannot_be_changed(
    environment: ReleaseEnvironment, change: dict[str, object], reason: str
) -> None:
    """The object says what was done, so it must not be made to say something else."""
    name = f"fixed-{next(iter(change)).lower()}"
    asked = {"executionMode": "Execute", "timeLimitSeconds": 1, "abort": True}
    _create(environment, "PackingPlan", name, asked)

    with pytest.raises(ApiException) as refused:
        CustomObjectsApi(environment.client).patch_cluster_custom_object(
            *GROUP, "packingplans", name, {"spec": change}
        )

    assert reason in str(refused.value.body)
