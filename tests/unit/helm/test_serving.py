"""When a release serves."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.helm.serving import serves

SERVES = {
    "observedGeneration": 2,
    "replicas": 1,
    "updatedReplicas": 1,
    "availableReplicas": 1,
}


def deployment(**status: int) -> dict[str, Any]:
    shown = {name: count for name, count in (SERVES | status).items() if count}
    return {"metadata": {"generation": 2}, "spec": {"replicas": 1}, "status": shown}


def test_a_release_serves_once_its_new_pod_is_available() -> None:
    """Scenarios begin then."""
    assert serves(deployment())


@pytest.mark.parametrize(
    "status",
    [
        {"observedGeneration": 1},
        {"updatedReplicas": 0},
        {"availableReplicas": 0},
        {"replicas": 2},
    ],
)
def test_a_pod_of_the_release_before_does_not_count(status: dict[str, int]) -> None:
    """It would place the pods of a scenario that has chosen another profile."""
    assert not serves(deployment(**status))


def test_a_release_that_nobody_has_looked_at_does_not_serve() -> None:
    """The server makes a Deployment without any status."""
    assert not serves({**deployment(), "status": {}})
