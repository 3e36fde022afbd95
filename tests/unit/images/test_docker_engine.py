"""Without Docker the error says why, and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stowage_testbed.images.docker_engine import (
    DockerCommandError,
    EngineUnreachableError,
    check_engine,
    docker,
    engine_unavailable_reason,
)


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
    with pytest.raises(EngineUnreachableError, match="DOCKER_HOST"):
        check_engine()


def test_an_engine_that_is_named_is_the_one_that_is_asked(programs: Path) -> None:
    """A cluster's containers are on the engine that it was started on."""
    a_program(programs, 'echo "$@"')

    assert docker("ps", engine="unix:///a") == "--host unix:///a ps"
    assert docker("ps") == "ps"
