"""A release that does not go away says what keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest
from kubernetes.client import (
    V1ContainerState,
    V1ContainerStateRunning,
    V1ContainerStatus,
    V1ObjectMeta,
    V1OwnerReference,
    V1Pod,
    V1PodStatus,
)

from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.helm import install
from stowage_testbed.helm.install import uninstall_release

if TYPE_CHECKING:
    from stowage_testbed.helm.release import Release


@dataclass
class Stuck:
    """A release whose pod stays."""

    pod: V1Pod
    name: str = "stuck"

    def pods(self) -> list[V1Pod]:
        return [self.pod]


def _pod(told: datetime | None) -> V1Pod:
    owner = V1OwnerReference(
        api_version="apps/v1", kind="ReplicaSet", name="scheduler", uid="1"
    )
    runs = V1ContainerState(running=V1ContainerStateRunning())
    container = V1ContainerStatus(
        name="optimizer", image="", image_id="", ready=True, restart_count=0, state=runs
    )
    return V1Pod(
        metadata=V1ObjectMeta(
            name="scheduler-x", deletion_timestamp=told, owner_references=[owner]
        ),
        status=V1PodStatus(phase="Running", container_statuses=[container]),
    )


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (None, "not told to end"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "told to end at 03:04:05"),
    ],
)
def test_a_pod_that_stays_is_shown_with_who_keeps_it_and_what_runs(
    monkeypatch: pytest.MonkeyPatch, told: datetime | None, said: str
) -> None:
    """Whether nobody asked it to end or it does not: causes that have two cures."""
    monkeypatch.setattr(install, "_uninstall", lambda release, timeout_s: None)

    with pytest.raises(WaitTimeoutError) as caught:
        uninstall_release(cast("Release", Stuck(_pod(told))), timeout_s=0.0)

    (state,) = caught.value.last_state
    assert state == (
        f"scheduler-x: Running, {said}, of ReplicaSet scheduler, running: optimizer"
    )
