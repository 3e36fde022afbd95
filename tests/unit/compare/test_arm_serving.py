"""An arm's pod: what is put on the cluster for it, and what happens when a process of it ends."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import yaml

from stowage_testbed.base import health
from stowage_testbed.base.errors import RunEndedError
from stowage_testbed.base.wait import SystemClock
from stowage_testbed.compare.arms.serving import (
    ArmEndedError,
    Place,
    RunningArm,
    ended_with,
    listening_issue,
    make_manifests,
)
from stowage_testbed.hostpods import EndedContainer, EndedContainers
from stowage_testbed.hostpods.pod import unsupported_fields

FOREVER_S = 60.0
EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound


@pytest.fixture
def place(tmp_path: Path) -> Place:
    kubeconfig = tmp_path / "kubeconfig.yaml"
    kubeconfig.write_text(yaml.safe_dump({"clusters": [{"cluster": {"server": "https://127.0.0.1:1"}}]}))
    cluster: Any = SimpleNamespace(name="test", workdir=tmp_path, kubeconfig=kubeconfig)
    return Place(cluster, "stowage-arm-mine", tmp_path / "logs")


def test_a_programs_pod_is_played_as_it_is_written(place: Place) -> None:
    """What its project calls $(A) is not Kubernetes' own variable; any text may stand in a configuration."""
    text = 'a: "{{ b }}" # <\U0001f600>\n# $(c)\n'

    manifests = make_manifests(
        place,
        ["/bin/mine", f"--config={place.config}", "$(HOME)"],
        text,
        "http://127.0.0.1:81/ready?x=1",
        rules=[{"verbs": ["get"]}],
    )

    config, deployment = manifests[1], manifests[-1]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert config["data"]["configuration"] == text
    assert (
        yaml.safe_load(config["data"]["kubeconfig.yaml"])["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    )
    assert container["command"] == ["/bin/mine", f"--config={place.config}", "$$(HOME)"]
    assert container["startupProbe"]["httpGet"] == {"scheme": "HTTP", "port": 81, "path": "/ready?x=1"}
    assert unsupported_fields(deployment["spec"]["template"]) == []
    given = [one["roleRef"]["name"] for one in manifests if one["kind"] == "ClusterRoleBinding"]
    assert given == ["stowage-arm-mine", "system:kube-scheduler", "system:volume-scheduler"]


def a_listener(*addresses: str, status: str = psutil.CONN_LISTEN) -> Any:
    """Return what psutil says of a process that listens there."""
    found = [SimpleNamespace(status=status, laddr=SimpleNamespace(ip=ip, port=9999)) for ip in addresses]
    return SimpleNamespace(net_connections=lambda _: found, children=lambda recursive: [])


@pytest.mark.parametrize("address", [EVERYWHERE, "::", "192.0.2.7"])
def test_an_arm_that_others_can_reach_does_not_serve(address: str) -> None:
    """A scheduler's secure port on every interface is one flag that was forgotten."""
    issue = listening_issue([a_listener("127.0.0.1", address)], {9999})

    assert issue == f"it listens on {address}:9999, which others can reach; bind it to 127.0.0.1"
    # Both families have a loopback, and a connection to elsewhere is no listening.
    own, calling = a_listener("127.0.0.1", "::1"), a_listener("192.0.2.7", status=psutil.CONN_ESTABLISHED)
    assert listening_issue([own, calling], {9999}) == ""
    # An earlier scheduler would be measured in its place.
    assert listening_issue([own], {80}) == "nothing of its own listens on port 80"


@pytest.fixture
def arm(tmp_path: Path) -> RunningArm:
    log = tmp_path / "scheduler.log"
    log.write_text("the scheduler says this\n")
    mine: Any = SimpleNamespace(name="mine")
    return RunningArm(mine, (), {"scheduler": log}, "", EndedContainers(tmp_path))


def end(folder: Path, log: str = "scheduler.log") -> None:
    """Have a container end as the daemon notes it."""
    EndedContainers(folder).add(EndedContainer("kube-system/mine", "scheduler", 137, str(folder / log)))


@pytest.mark.parametrize("later_s", [0.0, 0.2])
def test_a_program_that_is_killed_ends_the_block_by_its_arm(arm: RunningArm, later_s: float, tmp_path: Path) -> None:
    """A turn waited minutes for pods that nobody was there to place."""
    end(tmp_path, "another.log")
    arm.check()
    killing = threading.Timer(later_s, end, [tmp_path])
    killing.start()
    if not later_s:
        killing.join()

    with pytest.raises(ArmEndedError, match=r"mine ended by itself with 137(.|\n)*says"), ended_with(arm):
        SystemClock().pause(FOREVER_S)

    with pytest.raises(ArmEndedError):
        arm.check()


def test_the_end_of_the_cluster_comes_before_that_of_its_arm(arm: RunningArm, tmp_path: Path) -> None:
    """Arms die with their cluster; the next turn would begin on what is gone."""
    ended: list[str] = []

    def look() -> None:
        if ended:
            raise RunEndedError(ended[0])

    def whole() -> None:
        with health.needing(look), ended_with(arm):
            ended.append("etcd has ended")
            end(tmp_path)
            SystemClock().pause(FOREVER_S)

    with pytest.raises(RunEndedError, match="etcd has ended"):
        whole()
