"""Arms by name and from files: what they read, and how they say they will run."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.compare.arms import ARMS, choose_arms
from stowage_testbed.compare.arms.file_arm import FileArm, load_arm_file
from stowage_testbed.compare.arms.kube_scheduler import (
    BATCHING,
    default_arm,
    installed_config,
    plain_config,
    settings_of,
)
from stowage_testbed.compare.arms.settings import ClientLimits
from stowage_testbed.compare.arms.stowage import StowageArm
from stowage_testbed.simulate.process import ProfileMissingError
from stowage_testbed.toolchain.location import ToolMissingError

BAD = yaml.safe_load(Path(__file__).with_name("bad_arms.yaml").read_text("utf-8"))
KUBECONFIG = Path("/arm/kubeconfig.yaml")
EQUAL = ClientLimits(500, 700)


def test_arms_have_known_names_and_schedulers_of_their_own() -> None:
    """Names stand in results for years; two schedulers would fight for one pod."""
    chosen = choose_arms(list(ARMS))

    assert [arm.name for arm in chosen] == [
        "default", "stowage", "stowage-score-cache", "stowage-devices", "koordinator", "yunikorn",
    ]  # fmt: skip
    assert len({arm.pod_overrides.scheduler_name for arm in chosen}) == len(chosen)
    with pytest.raises(InputError, match=r"'yunicorn'.* koordinator, yunikorn"):
        choose_arms(["default", "yunicorn"])


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_whose_program_is_missing_names_the_way_out(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A comparison may go on without it, but must say why."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    (arm,) = choose_arms([name])

    with pytest.raises(ToolMissingError, match="stowage tools install"):
        arm.build()


def test_a_scheduler_reads_its_own_configuration_with_given_limits() -> None:
    """Its flags for limits are ignored under --config (trap T1); what runs is told."""
    plain = installed_config(plain_config("mine"), KUBECONFIG, None)
    shipped: dict[str, Any] = {
        "clientConnection": {"qps": 7, "burst": 10, "contentType": "json"},
        "parallelism": 1,
        "percentageOfNodesToScore": 100,
    }
    kept = installed_config(shipped, KUBECONFIG, None)
    given = installed_config(shipped, KUBECONFIG, EQUAL)
    kubeconfig = {"kubeconfig": str(KUBECONFIG)}

    def told(config: dict[str, Any], limits: ClientLimits | None) -> tuple[object, ...]:
        one = settings_of(config, "v1", limits, {}, ())
        return one.qps, one.burst, one.parallelism, one.sampled_percent

    assert plain["clientConnection"] == kubeconfig
    assert plain["leaderElection"] == {"leaderElect": False}
    assert plain["profiles"] == [{"schedulerName": "mine"}]
    assert kept["clientConnection"] == {**shipped["clientConnection"], **kubeconfig}
    assert kept["parallelism"] == 1
    limited = {"qps": 500, "burst": 700, "contentType": "json", **kubeconfig}
    assert given["clientConnection"] == limited
    assert told(plain_config("mine"), None) == (50, 100, 16, None)
    assert told(shipped, None) == (7, 10, 1, 100)
    assert told(shipped, EQUAL) == (500, 700, 1, 100)


def test_among_equals_no_scheduler_has_batching() -> None:
    """Not all can have it, so that it would be an advantage of one (trap T2)."""
    for arm in (default_arm(), StowageArm("mine", "default")):
        equal = arm.settings(EQUAL)

        assert arm.settings(None).feature_gates == {BATCHING: True}
        assert equal.feature_gates == {BATCHING: False}
        assert (equal.qps, equal.burst) == (500, 700)


@pytest.mark.parametrize(
    ("profile", "batching", "stated"),
    [
        ("default", True, (50, 16, None)),
        ("optimizer", True, (50, 16, None)),
        ("score-cache", False, (50, 16, None)),
        ("deterministic", False, (10_000, 1, 100)),
    ],
)
def test_a_profiles_own_settings_and_what_it_switches_off_are_reported(
    profile: str, batching: bool, stated: tuple[float, int, int | None]
) -> None:
    """A plugin that does not sign pods switches batching off silently."""
    found = StowageArm("mine", profile).settings(None)

    assert found.feature_gates == {BATCHING: batching}
    assert (found.qps, found.parallelism, found.sampled_percent) == stated
    with pytest.raises(ProfileMissingError, match="optimizer-deterministic"):
        StowageArm("mine", "nowhere").settings(None)


def test_our_arm_is_what_the_chart_installs_by_default() -> None:
    """The optimiser is part of what an installation changes."""
    arm = StowageArm()

    assert arm.pod_overrides.scheduler_name == "stowage"
    assert arm.settings(None).version.endswith("+optimizer")
    assert arm.settings(None).notes == ("the optimiser runs beside it",)


SHORTEST = """\
name: mine
binary: scheduler
arguments: ["--secure-port={port}"]
schedulerName: mine
ready: https://127.0.0.1:{port}/readyz
"""
WITH_CONFIG = SHORTEST.replace('["', '["--config={config}", "')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a program in it."""
    program = tmp_path / "scheduler"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return tmp_path


def load(folder: Path, text: str) -> FileArm:
    file = folder / "mine.yaml"
    file.write_text(text)
    return load_arm_file(file)


def issues(folder: Path, text: str) -> list[str]:
    """Return the issues of a file as ``line: message``."""
    with pytest.raises(InputError) as caught:
        load(folder, text)
    said = re.sub(r"(?m)^  .*mine\.yaml:(\d+):\d+: ", r"\1: ", str(caught.value))
    return said.split("\n")[1:]


def test_five_lines_are_enough(folder: Path) -> None:
    """Whoever tries an own scheduler has little patience for ours."""
    arm = load(folder, SHORTEST)

    assert (arm.name, arm.binary) == ("mine", folder / "scheduler")
    assert arm.pod_overrides == PodOverrides("mine")
    assert "system:kube-scheduler" in arm.file.clusterRoles


def test_everything_else_is_taken_as_it_is_written(folder: Path) -> None:
    """Labels reach the pods, roles the account, and settings the check."""
    (folder / "config.yaml").write_text("kind: Config\n")
    arm = load(
        folder,
        f"""{WITH_CONFIG}\
configuration: '{{"port": {{port}}, "limits": {{"qps": {{qps}}}}}}'
labels: {{queue: root}}
annotations: {{note: mine}}
clusterRoles: [view]
rules: [{{apiGroups: [""], resources: [nodes], verbs: [patch]}}]
settings: {{version: v3, qps: 20, burst: 30, featureGates: {{Batching: false}}}}
""",
    )
    with_file = load(folder, WITH_CONFIG + "configurationFile: config.yaml\n")

    assert arm.pod_overrides == PodOverrides("mine", {"queue": "root"}, {"note": "mine"})
    assert arm.file.clusterRoles == ("view",)
    assert arm.file.rules[0].verbs == ("patch",)
    assert arm.settings(None).version == "v3"
    assert arm.settings(None).feature_gates == {"Batching": False}
    assert with_file.configuration == "kind: Config\n"


def test_limits_reach_only_a_scheduler_that_takes_them(folder: Path) -> None:
    """Equal limits that it never receives would be equal on paper only."""
    declared = SHORTEST + "settings: {qps: 20, burst: 30}\n"
    deaf = load(folder, declared).settings(EQUAL)
    text = declared.replace('["', '["--qps={qps}", "')
    obedient = load(folder, text).settings(EQUAL)

    assert (deaf.qps, deaf.burst) == (20, 30)
    assert (obedient.qps, obedient.burst) == (500, 30)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad["said"])
def test_an_issue_is_named_with_its_line_and_the_way_out(folder: Path, bad: dict[str, Any]) -> None:
    """The file is short, its user is new to it."""
    old, new = bad.get("instead", ("", ""))
    text = SHORTEST.replace(old, new, 1) + bad.get("add", "")

    (issue,) = issues(folder, text)

    assert re.search(bad["said"], issue), issue


def test_all_issues_are_named_at_once(folder: Path) -> None:
    """One issue a run would take many runs; a path may be mistyped, a file empty."""
    text = "\nname: Mine\nbinary: nowhere\narguments: ['--x={y}']\nschedulerName: A_\n"

    assert len(issues(folder, text)) == 5
    assert "is empty" in "".join(issues(folder, ""))
    with pytest.raises(InputError, match=r"gone\.yaml: No such file"):
        load_arm_file(folder / "gone.yaml")


def test_an_own_scheduler_cannot_take_a_known_name(folder: Path) -> None:
    """A result must not say `default` of something else; another name comes last."""
    file = folder / "mine.yaml"
    file.write_text(SHORTEST)
    chosen = choose_arms(["yunikorn", "default"], [file])
    assert [arm.name for arm in chosen] == ["yunikorn", "default", "mine"]
    file.write_text(SHORTEST.replace("name: mine", "name: default", 1))

    for names in (["default"], []):
        with pytest.raises(InputError, match="'default'"):
            choose_arms(names, [file])


def test_every_arm_gets_the_gates_of_the_scenario_and_shows_them() -> None:
    """Arms that differ in a gate differ in more than how they place pods."""
    gates = make_gates({"GenericWorkload": True, BATCHING: False})
    for arm in choose_arms(["default", "stowage"], (), "1.37", gates):
        assert {**arm.settings(None).feature_gates} == {"GenericWorkload": True, BATCHING: False}


def test_an_arm_may_have_feature_gates_of_its_own() -> None:
    """What a gate changes shows where the same scheduler runs with it and without."""
    names = ["default", f"stowage+GenericWorkload+{BATCHING}=false@1.37"]
    plain, own = choose_arms(names, (), "1.37", make_gates({BATCHING: True}))

    assert [plain.name, own.name] == names
    assert plain.features == make_gates({BATCHING: True})
    assert own.features == make_gates({"GenericWorkload": True, BATCHING: False})
    assert own.pod_overrides.scheduler_name == "stowage"
    with pytest.raises(InputError, match="'genericworkload' names no feature gate"):
        choose_arms(["default+genericworkload"])
