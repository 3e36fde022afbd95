"""What of a pod is played on the host and how: volumes and status."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from host_builders import API_URL, JumpingClock, MemoryApi, a_container, a_place, a_pod

from stowage_testbed.base.wait import HANG_S
from stowage_testbed.hostpods.node import HostPodsError, Manifest
from stowage_testbed.hostpods.pod import PodRunner, unsupported_fields
from stowage_testbed.hostpods.process import container_environment, expand
from stowage_testbed.hostpods.status import ContainerRecord, PodStatus, running, terminated, waiting
from stowage_testbed.hostpods.volumes import Volumes, remove_tree, write_atomically

PLAIN = a_container("true")


UNSUPPORTED = yaml.safe_load(Path(__file__).with_name("unsupported.yaml").read_text("utf-8"))


@pytest.mark.parametrize("one", UNSUPPORTED, ids=lambda one: one["field"])
def test_a_field_that_is_not_played_is_named(one: dict[str, Any]) -> None:
    """A pod that ran without it would prove nothing."""
    pod = a_pod({**PLAIN, **one.get("container", {})}, **one.get("spec", {}))

    assert unsupported_fields(pod) == [f"spec.{one['field']}"]


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


def test_a_daemon_that_tolerates_any_node_is_not_run_here(tmp_path: Path) -> None:
    """It is somebody's manifest, perhaps of a driver; it is ready as on a fake node."""
    command = a_container("touch", str(tmp_path / "ran"))
    pod = a_pod(command, tolerations=[{"operator": "Exists"}])

    said = asked_by(pod, tmp_path, ("status",))

    status = said["PATCH /api/v1/namespaces/ns/pods/web/status"]["status"]
    assert status["phase"] == "Running"
    (ready,) = [one for one in status["conditions"] if one["type"] == "Ready"]
    assert ready["status"] == "True"
    assert not (tmp_path / "ran").exists()


def asked_by(pod: Manifest, tmp_path: Path, awaited: Sequence[str]) -> dict[str, Any]:
    """Run a pod until so much was asked of the API server; return it."""
    place = a_place(tmp_path, JumpingClock())
    runner, api = PodRunner(pod, place), place.api
    assert isinstance(api, MemoryApi)

    async def run_for_a_moment() -> None:
        running = asyncio.create_task(runner.run())
        async with asyncio.timeout(HANG_S):
            while len(api.asked) < len(awaited):
                await asyncio.sleep(0)
        runner.vanished()
        await running

    asyncio.run(run_for_a_moment())
    return dict(reversed(api.asked))  # the first of each


class Node:
    """One pod's volumes on a node with a clock of its own."""

    def __init__(self, folder: Path) -> None:
        self.clock = JumpingClock()
        self.api = MemoryApi(self.clock)
        self.volumes = Volumes(folder / "volumes", folder / "mnt", self.api, self.clock)

    def fill(self, **source: Any) -> Path:
        """Fill one volume from a source and return its folder."""
        pod = a_pod(a_container("true"), volumes=[{"name": "v", **source}])
        asyncio.run(self.volumes.fill(pod))
        return self.volumes.folder / "v"


def files(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): file.read_text()
        for entry in folder.iterdir()
        if not entry.name.startswith("..")
        for file in ([entry] if entry.is_file() else entry.rglob("*"))
    }


def test_a_config_map_shows_its_keys_with_the_asked_modes(tmp_path: Path) -> None:
    """`items` renames keys, and each may have a mode of its own."""
    node = Node(tmp_path)
    keys = {"data": {"a": "1"}, "binaryData": {"b": "Mg==", "c": "Mw=="}}
    node.api.objects["configmaps/settings"] = keys
    items = [{"key": "a", "path": "deep/one"}, {"key": "b", "path": "two", "mode": 256}]

    source = {"name": "settings", "items": items, "defaultMode": 0o640}
    folder = node.fill(configMap=source)

    assert files(folder) == {"deep/one": "1", "two": "2"}
    assert (folder / "deep/one").stat().st_mode & 0o777 == 0o640
    assert (folder / "two").stat().st_mode & 0o777 == 0o400


def test_a_missing_source_keeps_the_pod_waiting_unless_optional(tmp_path: Path) -> None:
    """A program must not start without its configuration, of which any key may lack."""
    node = Node(tmp_path)
    node.api.objects["secrets/keys"] = {"data": {"a": "MQ=="}}
    items = [{"key": "tls.crt", "path": "x"}]
    with pytest.raises(HostPodsError, match="ConfigMap ns/absent"):
        node.fill(configMap={"name": "absent"})
    with pytest.raises(HostPodsError, match="Secret ns/absent"):
        node.fill(secret={"secretName": "absent"})
    with pytest.raises(HostPodsError, match=r"'tls\.crt'"):
        node.fill(secret={"secretName": "keys", "items": items})

    assert files(node.fill(configMap={"name": "absent", "optional": True})) == {}


def test_a_projected_volume_joins_its_sources(tmp_path: Path) -> None:
    """What the chart's credentials are made of."""
    node = Node(tmp_path)
    node.api.objects["configmaps/ca"] = {"data": {"ca.crt": "certificate"}}
    node.api.objects["secrets/tls"] = {"data": {"tls.key": "a2V5", "other": "eA=="}}
    folder = node.fill(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "them"}},
                {"configMap": {"name": "ca"}},
                {"secret": {"name": "tls", "items": [{"key": "tls.key", "path": "k"}]}},
            ]
        }
    )

    assert files(folder) == {"token": "robot-1", "ca.crt": "certificate", "k": "key"}
    ((path, asked),) = node.api.asked
    assert path == "POST /api/v1/namespaces/ns/serviceaccounts/robot/token"
    assert asked["spec"]["audiences"] == ["them"]
    assert asked["spec"]["expirationSeconds"] == 3600
    assert asked["spec"]["boundObjectRef"]["uid"] == "0123456789abcdef"
    assert (folder / "token").stat().st_mode & 0o777 == 0o600


def test_a_token_is_renewed_when_most_of_its_life_has_passed(tmp_path: Path) -> None:
    """A client that uses an expired token is suddenly nobody."""
    node = Node(tmp_path)
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 1000}}
    source = {"projected": {"sources": [token]}}

    seen = []
    for seconds in (0, 799, 801, 1600, 1602):
        node.clock.seconds = seconds
        seen.append((node.fill(**source) / "token").read_text())

    assert seen == ["robot-1", "robot-1", "robot-2", "robot-2", "robot-3"]


def test_a_change_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    """Two files that belong together must never be of two versions."""
    folder = tmp_path / "v"
    old = {"a": (b"1", 0o600), "gone": (b"x", 0o600)}
    new = {"a": (b"2", 0o600), "b/c": (b"2", 0o400)}
    write_atomically(folder, old)
    opened = (folder / "..data").resolve()

    write_atomically(folder, new)
    version = (folder / "..data").resolve()
    write_atomically(folder, new)

    assert files(folder) == {"a": "2", "b/c": "2"}
    assert version != opened
    assert not opened.exists()
    assert (folder / "..data").resolve() == version
    # The end of a pod leaves nothing, though folders are read-only.
    remove_tree(folder)
    assert not folder.exists()


def test_an_empty_dir_keeps_what_was_written_into_it(tmp_path: Path) -> None:
    """It lives as long as the pod, through restarts and refreshes."""
    node = Node(tmp_path)
    (node.fill(emptyDir={}) / "kept").write_text("yes")

    assert (node.fill(emptyDir={}) / "kept").read_text() == "yes"


def volumes_of(folder: Path, pod: str = "one") -> Volumes:
    volumes = a_place(folder, pod=pod).volumes
    (volumes.folder / "v").mkdir(parents=True, exist_ok=True)
    return volumes


def link(at: Volumes, path: Path | str) -> None:
    mount = {"name": "v", "mountPath": str(path)}
    at.link(a_container("true", volumeMounts=[mount]))


def test_two_containers_of_a_pod_share_a_mount(tmp_path: Path) -> None:
    """The scheduler finds the optimiser's socket so; a killed daemon left its link."""
    at = volumes_of(tmp_path)
    path = tmp_path / "mnt" / "deep" / "socket"
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "hostpods" / "gone" / "volumes" / "v")
    link(at, path)
    link(at, path)

    (at.folder / "v" / "file").write_text("shared")

    assert (path / "file").read_text() == "shared"


@pytest.mark.parametrize("path", ["/etc/stowage", "{w}/mnt", "{w}/mnt/../secret"])
def test_paths_outside_the_work_folder_are_refused(tmp_path: Path, path: str) -> None:
    """A pod of the testbed must never change the machine."""
    with pytest.raises(HostPodsError, match="does not lie under"):
        link(volumes_of(tmp_path), path.format(w=tmp_path))


def test_a_path_that_another_pod_holds_is_refused(tmp_path: Path) -> None:
    """Two pods would overwrite each other's files."""
    path = tmp_path / "mnt" / "v"
    first = volumes_of(tmp_path, "one")
    link(first, path)
    with pytest.raises(HostPodsError, match="in use"):
        link(volumes_of(tmp_path, "two"), path)

    first.unlink()

    link(volumes_of(tmp_path, "two"), path)
    assert "two" in str(path.resolve())


def test_little_is_inherited_and_the_api_server_is_named() -> None:
    """Clients that look for the cluster find the real one."""
    variables = container_environment(a_container("true"), API_URL)

    assert variables.pop("KUBERNETES_SERVICE_HOST") == "127.0.0.1"
    assert variables.pop("KUBERNETES_SERVICE_PORT") == "6443"
    assert variables.pop("KUBERNETES_SERVICE_PORT_HTTPS") == "6443"
    assert variables.keys() <= {"PATH", "LANG"}
    assert variables["PATH"] == os.environ["PATH"]


def test_a_value_may_use_those_before_it() -> None:
    """The kubelet's order: what is said last and closest counts."""
    both, port = "$(SIZE)-$(KUBERNETES_SERVICE_PORT)", "KUBERNETES_SERVICE_PORT"
    values = {"SIZE": "10", "BOTH": both, port: "1"}
    env = [{"name": name, "value": value} for name, value in values.items()]

    variables = container_environment(a_container("true", env=env), API_URL)

    assert (variables["BOTH"], variables[port]) == ("10-6443", "1")


def test_expansion_follows_the_api() -> None:
    """Shell syntax is left alone, and a doubled dollar escapes."""
    for text, expected in (
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(ABSENT)", "$(ABSENT)"),
        ("$A ${A} $", "$A ${A} $"),
    ):
        assert expand(text, {"A": "1", "B": "2"}) == expected


T0 = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = running(T0)
WAITING = waiting("ContainerCreating")
DONE, FAILED = terminated(0, T0, T0), terminated(1, T0, T0)


def a_record(state: Manifest, *, ready: bool = False) -> ContainerRecord:
    return ContainerRecord("main", "none", state, ready=ready)


def test_the_phase_follows_the_containers() -> None:
    """As a kubelet computes it: controllers act on it."""
    for states, finished, expected in (
        ([WAITING], False, "Pending"),
        ([RUNNING, WAITING], False, "Pending"),
        ([RUNNING], False, "Running"),
        ([FAILED], False, "Running"),  # it is started again
        ([DONE], True, "Succeeded"),
        ([DONE, FAILED], True, "Failed"),
        ([DONE, WAITING], True, "Failed"),
    ):
        assert PodStatus(T0, [a_record(state) for state in states], finished=finished).phase() == expected


def conditions(status: PodStatus, now: datetime = T0) -> dict[str, Manifest]:
    manifest = status.manifest(a_pod(a_container("true")), now)
    return {condition["type"]: condition for condition in manifest["conditions"]}


def test_ready_needs_every_container_and_says_what_the_probe_said() -> None:
    """`helm --wait` only times out; this is where the reason can be read."""
    unready = a_record(RUNNING)
    half = PodStatus(T0, (a_record(RUNNING, ready=True), unready))
    shown = conditions(half)
    assert shown["Ready"]["status"] == "False"
    assert shown["ContainersReady"]["message"].endswith("status: ['main']")

    unready.probe_failure = "readiness probe failed: 500 informer-sync failed"
    shown = conditions(half)
    said = f"['main']; main: {unready.probe_failure}"
    assert shown["Ready"]["message"].endswith(said)

    ready = conditions(PodStatus(T0, [a_record(RUNNING, ready=True)]))
    assert ready["Ready"]["status"] == "True"
    others = {"PodReadyToStartContainers", "Initialized", "PodScheduled"}
    assert set(ready) == {"Ready", "ContainersReady", *others}


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    """`minReadySeconds` and availability count from it."""
    record = a_record(RUNNING)
    status = PodStatus(T0, [record])
    conditions(status)
    record.ready = True

    shown = conditions(status, T0 + timedelta(seconds=10))

    assert shown["Ready"]["lastTransitionTime"] == "2026-01-01T00:00:10Z"
    assert shown["Initialized"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_an_ended_container_shows_its_code_and_times() -> None:
    """The first question after a crash."""
    record = a_record(waiting("CrashLoopBackOff", "back-off 2 s"))
    record.last = terminated(3, T0, T0 + timedelta(seconds=5), "liveness probe failed")

    shown = record.manifest()

    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert shown["lastState"]["terminated"] == {
        "exitCode": 3,
        "reason": "Error",
        "startedAt": "2026-01-01T00:00:00Z",
        "finishedAt": "2026-01-01T00:00:05Z",
        "message": "liveness probe failed",
    }
