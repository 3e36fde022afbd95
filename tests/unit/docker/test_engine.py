"""Without Docker the error says why, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.docker.engine import (
    DockerCommandError,
    EngineUnreachableError,
    check_engine,
    docker,
    engine_unavailable_reason,
)
from stowage_testbed.docker.requirements import PROGRAMS, unstartable_reasons


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of the PATH besides the shell's, still empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return folder


def a_program(folder: Path, script: str, name: str = "docker") -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_an_engine_that_answers_has_no_fault(programs: Path) -> None:
    """Then nothing is started, and nothing is in the way of the user's own."""
    a_program(programs, 'echo "20.10"')

    assert engine_unavailable_reason() == ""


def test_a_refusal_is_quoted_in_docker_s_own_words(programs: Path) -> None:
    """Its last line names the cause."""
    a_program(programs, "echo client >&2; echo 'permission denied' >&2; exit 1")

    assert engine_unavailable_reason() == "permission denied"
    with pytest.raises(DockerCommandError, match="docker ps --all failed"):
        docker("ps", "--all")


def test_no_docker_at_all_names_the_package(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a new machine it is the first thing that is missing."""
    monkeypatch.setenv("PATH", str(programs))

    with pytest.raises(EngineUnreachableError, match=r"apt-get install docker\.io"):
        docker("ps")
    with pytest.raises(EngineUnreachableError, match="stowage docker --"):
        check_engine()


def test_an_engine_that_is_named_is_the_one_that_is_asked(programs: Path) -> None:
    """A cluster's containers are on the engine that it was started on."""
    a_program(programs, 'echo "$@"')

    assert docker("ps", engine="unix:///a") == "--host unix:///a ps"
    assert docker("ps") == "ps"


def test_every_reason_why_none_can_be_started_is_reported_at_once() -> None:
    """One a try would take as many tries as there are reasons."""
    reasons = unstartable_reasons(
        lambda _name: None, lambda: 1000, lambda: "Linux", str
    )

    assert reasons[0] == "only root may start one"
    assert all(name in reasons[1] for name in PROGRAMS)
    assert "apt-get install" in reasons[1]
    assert unstartable_reasons(lambda name: name, lambda: 0, lambda: "Linux", str) == []
    assert (
        "Darwin"
        in unstartable_reasons(lambda name: name, lambda: 0, lambda: "Darwin")[0]
    )


def test_a_machine_that_makes_no_namespaces_is_distinguished() -> None:
    """Inside another container even root may not."""
    reasons = unstartable_reasons(
        lambda name: name, lambda: 0, lambda: "Linux", lambda: "not permitted"
    )

    assert reasons == ["no namespaces can be made here (not permitted)"]


def test_a_command_that_needs_docker_is_not_run_without(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fail later, and less clearly."""
    monkeypatch.setattr(
        "stowage_testbed.cli.docker.unstartable_reasons", lambda: ["no runc"]
    )
    run: list[list[str]] = []
    monkeypatch.setattr("stowage_testbed.cli.docker._become", run.append)

    refused = CliRunner().invoke(app, ["docker", "--", "true"])
    result = CliRunner().invoke(app, ["docker", "--optional", "--", "true"])

    assert "no runc" in str(refused.exception)
    assert refused.exit_code == 1
    assert "what needs one is left out" in result.stderr
    assert run == [["true"]]
    assert list(programs.iterdir()) == []
