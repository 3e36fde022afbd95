"""Plans that a person asks for, reviews, and has carried out."""

from __future__ import annotations

import pytest
from figure_1_cluster import nodes, wait_for
from kubernetes.client import ApiException, CustomObjectsApi
from release_environment import ReleaseEnvironment
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.cli.plan_control import PlanApi, PlanMissingError

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

PLANS = ("stowage.dev", "v1alpha1", "packingplans")


def _ask(environment: ReleaseEnvironment, name: str, **spec: object) -> None:
    CustomObjectsApi(environment.client).create_cluster_custom_object(
        *PLANS,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPlan",
            "metadata": {"name": name},
            "spec": spec,
        },
    )


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
    _ask(figure_1, "reviewed", executionMode="DryRun")
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
    assert "Verified" in page
    assert listed[2:] == ["Proposed", "DryRun", "Place", "1", "1", "0", "yes"]

    _stowage(figure_1, "approve", "reviewed")
    done = wait_for(figure_1, "reviewed", "Completed")

    after = nodes(figure_1)
    assert all(after.values())
    assert after["third"] == move["fromNode"]
    assert [one["state"] for one in done["status"]["moves"]] == ["Bound"]
    assert {one["type"]: one["status"] for one in done["status"]["conditions"]} == {
        "Solved": "True",
        "Optimal": "True",
        "Verified": "True",
        "Executed": "True",
    }


def test_a_proposal_that_is_given_up_moves_no_pod(figure_1: ReleaseEnvironment) -> None:
    """After an abort nothing of the plan may happen, also not by an approval."""
    before = nodes(figure_1)
    _ask(figure_1, "unwanted", executionMode="DryRun")
    wait_for(figure_1, "unwanted", "Proposed")

    _stowage(figure_1, "abort", "unwanted")
    wait_for(figure_1, "unwanted", "Aborted")

    with pytest.raises(StowageError, match="only a proposal can be approved"):
        PlanApi(figure_1.client).approve("unwanted")
    with pytest.raises(StowageError, match="nothing to give up"):
        PlanApi(figure_1.client).abort("unwanted")
    assert nodes(figure_1) == before


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
    plans = CustomObjectsApi(environment.client)
    name = f"fixed-{next(iter(change)).lower()}"
    _ask(environment, name, executionMode="Execute", timeLimitSeconds=1, abort=True)

    with pytest.raises(ApiException) as refused:
        plans.patch_cluster_custom_object(*PLANS, name, {"spec": change})

    assert reason in str(refused.value.body)


def test_a_plan_is_a_proposal_unless_it_says_otherwise(
    figure_1: ReleaseEnvironment,
) -> None:
    """Whoever does not say that pods may be moved only gets a proposal."""
    before = nodes(figure_1)
    _ask(figure_1, "unspecified")

    proposed = wait_for(figure_1, "unspecified", "Proposed")

    assert proposed["spec"] == {"executionMode": "DryRun", "trigger": "Manual"}
    assert len(proposed["status"]["moves"]) == 1
    assert nodes(figure_1) == before


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"executionMode": "Now"}, 'Unsupported value: \\"Now\\"'),
        ({"timeLimitSeconds": 0}, "timeLimitSeconds"),
    ],
)
def test_what_the_kind_does_not_allow_is_refused(
    environment: ReleaseEnvironment, spec: dict[str, object], reason: str
) -> None:
    """The fault is named to the caller, since no plan is there to show it."""
    with pytest.raises(ApiException) as refused:
        _ask(environment, "refused", **spec)

    assert reason in str(refused.value.body)


def test_a_plan_that_does_not_exist_is_named(environment: ReleaseEnvironment) -> None:
    """A typing error must not look like an empty cluster."""
    with pytest.raises(PlanMissingError, match="'nobody'"):
        PlanApi(environment.client).plan("nobody")
