"""Schedulers of the user's own: what their files may say, and every issue at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.arms.file_arm import FileArm, load_arm_file
from stowage_testbed.run.arm import ClientLimits, PodOverrides

SHORTEST = """\
name: mine
binary: scheduler
arguments: ["--secure-port={port}"]
schedulerName: mine
ready: https://127.0.0.1:{port}/readyz
"""


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
    return re.sub(r"(?m)^  .*mine\.yaml:(\d+):\d+: ", r"\1: ", str(caught.value)).split(
        "\n"
    )[1:]


def test_five_lines_are_enough(folder: Path) -> None:
    """Whoever tries an own scheduler has little patience for ours."""
    arm = load(folder, SHORTEST)

    assert arm.name == "mine"
    assert arm.pod_overrides == PodOverrides("mine")
    assert arm.binary == folder / "scheduler"
    assert "system:kube-scheduler" in arm.rights.cluster_roles


def test_everything_else_is_taken_as_it_is_written(folder: Path) -> None:
    """Labels reach the pods, roles the account, and settings the check."""
    arm = load(
        folder,
        SHORTEST.replace('["', '["--config={config}", "')
        + """\
configuration: '{"port": {port}, "limits": {"qps": {qps}}}'
labels: {queue: root}
annotations: {note: mine}
clusterRoles: [view]
rules: [{apiGroups: [""], resources: [nodes], verbs: [patch]}]
settings: {version: v3, qps: 20, burst: 30, featureGates: {Batching: false}}
""",
    )

    assert arm.pod_overrides == PodOverrides(
        "mine", {"queue": "root"}, {"note": "mine"}
    )
    assert arm.rights.cluster_roles == ("view",)
    assert arm.rights.rules[0]["verbs"] == ["patch"]
    assert arm.settings(None).version == "v3"
    assert arm.settings(None).feature_gates == {"Batching": False}


def test_limits_reach_only_a_scheduler_that_takes_them(folder: Path) -> None:
    """Equal limits that it never receives would be equal on paper only."""
    declared = SHORTEST + "settings: {qps: 20, burst: 30}\n"
    deaf = load(folder, declared).settings(ClientLimits(500, 700))
    text = declared.replace('["', '["--qps={qps}", "')
    obedient = load(folder, text).settings(ClientLimits(500, 700))

    assert (deaf.qps, deaf.burst) == (20, 30)
    assert (obedient.qps, obedient.burst) == (500, 30)


def test_a_configuration_can_be_a_file_of_its_own(folder: Path) -> None:
    """Most schedulers have one already."""
    (folder / "config.yaml").write_text("kind: Config\n")
    text = SHORTEST.replace('["', '["--config={config}", "')

    arm = load(folder, text + "configurationFile: config.yaml\n")

    assert arm.configuration == "kind: Config\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (SHORTEST + "burst: 3\n", "6: unknown key 'burst' in the arm file"),
        (SHORTEST.replace("name: mine\n", ""), "the arm file lacks the key 'name'"),
        (SHORTEST.replace("mine", "Mine", 1), "1: name: 'Mine' cannot name an arm"),
        (SHORTEST.replace("scheduler\n", "nowhere\n"), "2: there is no file "),
        (SHORTEST.replace("scheduler\n", "mine.yaml\n"), "2: .* chmod \\+x "),
        (SHORTEST.replace("binary:", "image:"), "2: .* name it with `binary`"),
        (SHORTEST.replace("binary: scheduler\n", ""), "lacks the key 'binary'"),
        (SHORTEST.replace("={port}", "={prot}"), "3: .*{prot}; did you mean 'port'"),
        (SHORTEST.replace("={port}", "=1"), "5: nothing tells the program {port}"),
        (SHORTEST.replace("127.0.0.1", "10.0.0.1"), "5: ready: .* no address on 127"),
        (SHORTEST.replace("https", "file"), "5: ready: .* no address on 127"),
        (SHORTEST + "configuration: x\n", "6: nothing takes the configuration"),
        (SHORTEST.replace("={port}", "={port}{config}"), "3: there is no configurat"),
        (SHORTEST + "labels: {a: 1}\n", "6: labels.a must be text, not 1; put it in"),
        (SHORTEST + "settings: {qps: 0}\n", "6: settings.qps must be more than 0"),
        (SHORTEST + "rules: [{verbs: []}]\n", "6: .*verbs is empty"),
        (SHORTEST + "name: two\n", "6: key 'name' stands already in line 1"),
    ],
)
def test_an_issue_is_named_with_its_line_and_the_way_out(
    folder: Path, text: str, message: str
) -> None:
    """The file is short, its user is new to it."""
    (issue,) = issues(folder, text)

    assert re.search(message, issue), issue


def test_all_issues_are_named_at_once(folder: Path) -> None:
    """One issue a run would take many runs."""
    text = """
name: Mine
binary: nowhere
arguments: ["--x={y}"]
schedulerName: A_
"""

    assert len(issues(folder, text)) == 5


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path is what was mistyped."""
    with pytest.raises(InputError, match=r"mine\.yaml: No such file"):
        load_arm_file(tmp_path / "mine.yaml")
