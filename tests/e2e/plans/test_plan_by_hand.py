"""Plans that a person asks for, and objects that cannot be meant."""

from typing import Any

import pytest
from figure_1_cluster import nodes, wait_for
from release_environment import ReleaseEnvironment
from typer.testing import CliRunner

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.cli import app

pytestmark = [pytest.mark.e2e, pytest.mark.smoke]

RESERVATION = {
    "template": {"spec": {"containers": [{"name": "c", "image": "none"}]}},
    "owners": [{"labelSelector": {"matchLabels": {"app": "shop"}}}],
}


def create(environment: ReleaseEnvironment, kind: str, name: str, spec: dict[str, Any]) -> None:
    manifest = make_manifest("stowage.dev/v1alpha1", kind, name, spec=spec)
    Objects(environment.client).create(manifest)


@pytest.mark.stowage(scenario="protected.yaml")
def test_no_pod_that_an_eviction_would_harm_is_moved_by_the_chart_s_defaults() -> None:
    """A set-up that lifts the rules first would prove nothing about an installation."""


def test_a_proposal_that_is_given_up_moves_no_pod(figure_1: ReleaseEnvironment) -> None:
    """Whoever asks without a mode gets a proposal, which an abort ends."""
    before = nodes(figure_1)
    create(figure_1, "PackingPlan", "unwanted", {})
    proposed = wait_for(figure_1, "unwanted", "Proposed")

    aborted = CliRunner().invoke(app, ["plan", "abort", "unwanted", "--cluster", figure_1.cluster.name])
    assert aborted.exit_code == 0, aborted.output
    wait_for(figure_1, "unwanted", "Aborted")

    assert proposed["spec"] == {"executionMode": "DryRun", "trigger": "Manual"}
    assert nodes(figure_1) == before


ANY_WINDOW = [{"schedule": "0 2 * * *", "durationSeconds": 60}]


@pytest.mark.parametrize(
    ("kind", "spec", "reason"),
    [
        ("PackingPlan", {"executionMode": "Now"}, 'Unsupported value: "Now"'),
        ("PackingPlan", {"timeLimitSeconds": 0}, "timeLimitSeconds"),
        ("PackingPlan", {"objective": "Consolidate", "leastGain": "much"}, "leastGain"),
        ("PackingPlan", {"objective": "Consolidate", "maxMoves": 0}, "maxMoves"),
        ("PackingPlan", {"objective": "Consolidate", "schedulerNames": []}, "schedule"),
        ("PackingPlan", {"objective": "Place", "leastGain": "1"}, "are for plans with"),
        ("PackingPlan", {"maximize": "Nodes"}, 'Unsupported value: "Nodes"'),
        ("PackingPlan", {"objective": "Consolidate", "maximize": "Devices"}, "maximize is for plans with"),
        ("PackingPolicy", {"windows": ANY_WINDOW, "maximize": "Devices"}, "maximize is for policies with"),
        ("Reservation", {"owners": []}, "spec.owners"),
        ("Reservation", {"owners": [{}]}, "an owner names an object, a controller or"),
        ("Reservation", {"ttl": "1h", "expires": "2030-01-01T00:00:00Z"}, "exclude each other"),
        ("Reservation", {"ttl": "soon"}, "spec.ttl"),
    ],
)
def test_an_object_that_cannot_be_meant_is_refused(
    environment: ReleaseEnvironment, kind: str, spec: dict[str, Any], reason: str
) -> None:
    """A mistake is reported at once, not found in a log after the peak."""
    whole = {**RESERVATION, **spec} if kind == "Reservation" else spec
    with pytest.raises(ApiRefusedError) as refused:
        create(environment, kind, "broken", whole)

    assert reason in str(refused.value)


EXECUTED = {"executionMode": "Execute", "timeLimitSeconds": 1, "abort": True}
EMPTYING = {"objective": "Consolidate", "leastGain": "0.5", "maxMoves": 7}


@pytest.mark.parametrize(
    ("asked", "change", "reason"),
    [
        (EXECUTED, {"trigger": "Periodic"}, "trigger of a PackingPlan cannot be"),
        (EXECUTED, {"timeLimitSeconds": 9}, "time limit of a PackingPlan cannot be"),
        (EXECUTED, {"executionMode": "DryRun"}, "cannot be turned into a dry run"),
        (EXECUTED, {"maximize": "Devices"}, "what a PackingPlan maximizes cannot be"),
        (EXECUTED, {"abort": False}, "an abort cannot be taken back"),
        (EMPTYING, {"leastGain": "0.1"}, "cannot be changed"),
        (EMPTYING, {"nodeSelector": {"matchLabels": {"a": "b"}}}, "cannot be changed"),
        (EMPTYING, {"schedulerNames": ["default-scheduler"]}, "cannot be changed"),
        (EMPTYING, {"objective": None}, "cannot be changed"),
    ],
)
def test_what_was_asked_for_cannot_be_changed(
    environment: ReleaseEnvironment, asked: dict[str, Any], change: dict[str, Any], reason: str
) -> None:
    """Who approves a plan must know that it is the one that was reviewed."""
    create(environment, "PackingPlan", "fixed", asked)

    with pytest.raises(ApiRefusedError) as refused:
        Objects(environment.client).patch("PackingPlan", "fixed", {"spec": change})

    assert reason in str(refused.value)
