"""What of a pod's spec is played on the host, refused, or ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from host_builders import JumpingClock, MemoryApi, a_container, a_place, a_pod

from stowage_testbed.base.wait import HANG_S
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.pod import PodRunner
from stowage_testbed.hostpods.supported import unenforced_settings, unsupported_fields
from stowage_testbed.hostpods.volumes import Volumes

PLAIN = a_container("true")


def a_volume(**source: Any) -> dict[str, Any]:
    return a_pod(PLAIN, volumes=[{"name": "v", **source}])


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (a_pod(PLAIN, initContainers=[PLAIN]), "initContainers"),
        (a_pod(PLAIN, readinessGates=[{"conditionType": "x"}]), "readinessGates"),
        (a_pod(PLAIN, restartPolicy="Never"), "restartPolicy: Never"),
        (a_volume(downwardAPI={"items": []}), "volumes[v].downwardAPI"),
        (a_volume(persistentVolumeClaim={}), "volumes[v].persistentVolumeClaim"),
        (
            a_volume(projected={"sources": [{"downwardAPI": {}}]}),
            "volumes[v].projected.sources.downwardAPI",
        ),
    ],
)
def test_a_field_of_the_pod_that_is_not_played_is_named(
    pod: Manifest, field: str
) -> None:
    """A pod that ran without it would prove nothing."""
    assert unsupported_fields(pod) == [f"spec.{field}"]


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"envFrom": [{"configMapRef": {"name": "x"}}]}, "envFrom"),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}, "env[A].valueFrom"),
        ({"lifecycle": {"preStop": {}}}, "lifecycle"),
        ({"livenessProbe": {"tcpSocket": {"port": 1}}}, "livenessProbe.tcpSocket"),
        ({"readinessProbe": {"grpc": {"port": 1}}}, "readinessProbe.grpc"),
        (
            {"startupProbe": {"httpGet": {"httpHeaders": [{"name": "x"}]}}},
            "startupProbe.httpGet.httpHeaders",
        ),
        ({"volumeMounts": [{"name": "v", "subPath": "x"}]}, "volumeMounts[v].subPath"),
    ],
)
def test_a_field_of_a_container_that_is_not_played_is_named(
    container: dict[str, Any], field: str
) -> None:
    """Its path leads to the line of the chart."""
    pod = a_pod({**PLAIN, **container})

    assert unsupported_fields(pod) == [f"spec.containers[main].{field}"]


def test_what_is_played_is_not_refused() -> None:
    """All that the chart uses, with what the API server adds."""
    probe = {"httpGet": {"port": 1, "scheme": "HTTPS"}, "successThreshold": 1}
    container = a_container(
        "true",
        env=[{"name": "A", "value": "1"}],
        startupProbe=probe,
        livenessProbe={
            "exec": {"command": ["true"]},
            "terminationGracePeriodSeconds": 1,
        },
        volumeMounts=[{"name": "v", "mountPath": "/v", "readOnly": True}],
        terminationMessagePath="/dev/termination-log",
        imagePullPolicy="Never",
    )
    sources = [{"serviceAccountToken": {"path": "t"}}, {"secret": {"name": "s"}}]
    volumes = [{"name": "v", "projected": {"sources": sources, "defaultMode": 420}}]

    assert unsupported_fields(a_pod(container, volumes=volumes)) == []
    assert unsupported_fields(a_volume(emptyDir={"medium": "Memory"})) == []


def test_a_pod_that_is_refused_is_not_started_and_says_why(tmp_path: Path) -> None:
    """In its status and in an event, where `helm --wait` failures are looked for."""
    pod = a_pod(a_container("touch", str(tmp_path / "ran")), initContainers=[PLAIN])

    said = asked_by(pod, tmp_path, ("event", "status"))

    event = said["POST /api/v1/namespaces/ns/events"]
    assert event["reason"] == "NotSupportedOnHost"
    assert "host pods do not play spec.initContainers" in event["message"]
    status = said["PATCH /api/v1/namespaces/ns/pods/web/status"]["status"]
    assert event["message"] in str(status["containerStatuses"])
    assert not (tmp_path / "ran").exists()


def test_a_daemon_that_tolerates_any_node_is_not_run_on_this_machine(
    tmp_path: Path,
) -> None:
    """It is somebody's manifest, perhaps of a driver; it is ready as on a fake node."""
    command = a_container("touch", str(tmp_path / "ran"))
    pod = a_pod(command, tolerations=[{"operator": "Exists"}])

    said = asked_by(pod, tmp_path, ("status",))

    status = said["PATCH /api/v1/namespaces/ns/pods/web/status"]["status"]
    assert status["phase"] == "Running"
    assert {"type": "Ready", "status": "True"}.items() <= status["conditions"][
        2
    ].items()
    assert not (tmp_path / "ran").exists()


def asked_by(pod: Manifest, tmp_path: Path, awaited: Sequence[str]) -> dict[str, Any]:
    """Run a pod until so much was asked of the API server; return it."""
    clock = JumpingClock()
    api = MemoryApi(clock)
    runner = PodRunner(
        pod, api, a_place(tmp_path, clock), Volumes(tmp_path / "v", api, clock)
    )

    async def run_for_a_moment() -> None:
        running = asyncio.create_task(runner.run())
        async with asyncio.timeout(HANG_S):
            while len(api.asked) < len(awaited):
                await asyncio.sleep(0)
        runner.vanished()
        await running

    asyncio.run(run_for_a_moment())
    return dict(reversed(api.asked))  # the first of each


def test_what_is_not_enforced_is_named() -> None:
    """Whoever reads the log must not believe in an isolation that is not there."""
    container = a_container(
        "true",
        securityContext={"runAsNonRoot": True},
        resources={"limits": {"memory": "1Gi"}},
    )
    pod = a_pod(container, securityContext={"runAsUser": 65532})

    assert unenforced_settings(pod) == [
        "main.resources.limits",
        "main.runAsNonRoot",
        "pod.runAsUser",
    ]
    assert unenforced_settings(a_pod(PLAIN)) == []
