"""Where no engine of Docker's can be started, it is said why."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.engine.requirements import PROGRAMS, unstartable_reasons


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fail later, and less clearly."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(
        "benchmarks.engine.command.unstartable_reasons", lambda: ["no runc"]
    )
    run: list[list[str]] = []
    monkeypatch.setattr("benchmarks.engine.command._execute", run.append)

    refused = CliRunner().invoke(app, ["docker", "--", "true"])
    result = CliRunner().invoke(app, ["docker", "--optional", "--", "true"])

    assert "no runc" in refused.stderr
    assert refused.exit_code == 1
    assert "what needs one is left out" in result.stderr
    assert run == [["true"]]
