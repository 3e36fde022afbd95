"""The first use of a command installs what it lacks, and says so."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cli import app
from stowage_testbed.toolchain import choose_minor, tool_path

ROOT = Path(__file__).parents[3]
STOWAGE = Path(sys.executable).with_name("stowage")
SIMULATE = "stowage-simulate"
COMMANDS = yaml.safe_load(Path(__file__).with_name("first_use.yaml").read_text("utf-8"))
POLICY = """\
apiVersion: stowage.dev/v1alpha1
kind: PackingPolicy
metadata: {name: nightly}
spec: {windows: [{schedule: "0 2 * * *", durationSeconds: 7200}]}
"""
TRACE = '{"stowage_trace": 1, "began": "2026-01-01T00:00:00Z", "kubernetes": "v1.37.2"}\n'
CAUSE = "no such host: proxy.example"

GO = f"""#!/bin/sh
case $1 in
  env) echo go1.99.0 ;;
  list) echo program@ ;;
  build)
    if [ -z "$STAND_IN" ]; then echo '{CAUSE}'; exit 1; fi
    while [ "$1" != -o ]; do shift; done
    cp "$STAND_IN" "$2" ;;
esac
"""
"""A stand-in for Go: builds what it is given, or fails."""


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(ROOT)
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{go.parent}:{os.environ['PATH']}",
        "STOWAGE_CACHE": str(tmp_path / "cache"),
        "STOWAGE_SOURCE": "go",
    }


@pytest.fixture
def lists(tmp_path: Path) -> str:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": room}}
    asked = {"requests": {"cpu": "1", "memory": "1Gi"}}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "1"},
        "spec": {"containers": [{"name": "c", "resources": asked}]},
        "status": {"phase": "Pending"},
    }
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"kind": "List", "items": [node, pod]}))
    return str(file)


def call(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("command", "tools"), COMMANDS.items())
def test_what_a_command_lacks_is_told_with_the_command_that_installs_it(
    command: str, tools: str, fresh: dict[str, str], lists: str, tmp_path: Path
) -> None:
    """A build takes minutes, and who waits for it wants to know for what.

    Where it fails, the cause is said and the way out, and standard output stays clean for programs.
    """
    files = {"LISTS": Path(lists), "OUT": tmp_path / "out"}
    for name, content in {"POLICY.yaml": POLICY, "TRACE.jsonl": TRACE}.items():
        file = tmp_path / name
        file.write_text(content)
        files[file.stem] = file
    words = [str(files.get(word, word)) for word in command.split()]

    result = CliRunner().invoke(app, words, env=fresh)

    (line,) = (one for one in result.stderr.splitlines() if "installing now" in one)
    missing, installing = line.split("stowage tools install ")
    assert set(tools.split()) <= set(installing.split(" --")[0].split())
    assert all(tool in missing for tool in tools.split())
    assert "\ntools: Go modules for " in result.stderr
    assert (result.exit_code != 0, result.stdout) == (True, "")
    failure = f"{result.stderr}{result.exception}"
    assert CAUSE in failure
    assert "run the same command again" in failure


@pytest.mark.parametrize("on_terminal", [False, True])
def test_a_command_goes_on_once_what_it_lacked_is_there(
    fresh: dict[str, str], lists: str, *, on_terminal: bool
) -> None:
    """Nobody has to type it again, and the answer is all that standard output has."""
    built = {"STAND_IN": str(tool_path(SIMULATE, choose_minor()))}
    command = [str(STOWAGE), "whatif", "--json", "--file", lists]
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", closefd=True) as terminal:
        process = subprocess.Popen(
            command,
            env={**fresh, **built},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs if on_terminal else subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        output, said = process.communicate(timeout=HANG_S)
        shown = os.read(terminal.fileno(), 1 << 16).decode() if on_terminal else said

    assert process.returncode == 0
    assert json.loads(output)["nodes"] == 1
    assert f"{SIMULATE} is not installed; installing now, once (up to 12 min" in shown


def test_a_fixture_says_what_it_installs(fresh: dict[str, str], tmp_path: Path) -> None:
    """What a fixture says is kept back by pytest until a test has failed."""
    test = tmp_path / "test_mine.py"
    test.write_text("def test_one(stowage_cluster):\n    pass\n\ndef test_two(stowage_cluster):\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"]

    code, output, said = call([*command, "--show-capture=no", str(test)], fresh)

    assert code == 1
    assert said.startswith("stowage: etcd, ")
    assert "installing now" in said.splitlines()[0]
    assert CAUSE in output


REFUSALS: dict[str, list[list[str]]] = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("command", "said"), [case for cases in REFUSALS.values() for case in cases])
def test_what_makes_no_sense_is_told_at_once(
    command: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after an hour, nor once a cluster was made for it."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("STOWAGE_CLUSTERS", raising=False)
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, command.split())

    assert isinstance(result.exception, StowageError | SystemExit)
    assert result.exit_code != 0
    assert said in f"{result.output} {result.exception}"
    assert [*tmp_path.glob("cache/clusters/[!.]*")] == []


def test_the_schema_of_traces_is_printed() -> None:
    """For who writes traces with another program."""
    result = CliRunner().invoke(app, ["record", "--schema"])

    assert result.exit_code == 0
    Draft202012Validator.check_schema(json.loads(result.output))
