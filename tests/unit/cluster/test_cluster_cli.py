"""`stowage up` and its kin: faults are found before anything is started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of clusters in an empty cache."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    return tmp_path / "clusters"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["up", "One"], "'One' cannot name a cluster"),
        (["up", "--nodes", "cpu=-1,memory=1Gi"], "--nodes 'cpu=-1,memory=1Gi': cpu"),
        (["up"], "run: stowage tools install"),
        (["down", "one"], "no cluster 'one'"),
        (["kubeconfig"], "run: stowage up stowage"),
    ],
)
def test_a_fault_is_a_known_error_and_leaves_nothing(
    clusters: Path, arguments: list[str], said: str
) -> None:
    """The command line prints those without a traceback."""
    result = CliRunner().invoke(app, arguments)

    assert isinstance(result.exception, StowageError)
    assert said in str(result.exception)
    assert [path.name for path in clusters.glob("[!.]*")] == []


@pytest.mark.usefixtures("clusters")
def test_an_unknown_scheduler_is_refused_with_the_choices() -> None:
    """Who mistypes one should not have to look for the page that lists them."""
    result = CliRunner().invoke(app, ["up", "--scheduler", "other"])

    assert result.exit_code == 2
    assert all(name in result.output for name in ("stock", "stowage", "none"))


def test_a_port_in_use_is_refused_at_once(clusters: Path) -> None:
    """The API server would say so only in its log, seconds later."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]

        result = CliRunner().invoke(app, ["up", "--port", str(port)])

    assert isinstance(result.exception, StowageError)
    assert f"port {port} of 127.0.0.1 is in use by process" in str(result.exception)
    assert [path.name for path in clusters.glob("[!.]*")] == []


@pytest.mark.usefixtures("clusters")
def test_an_empty_list_and_an_idle_purge_are_no_errors() -> None:
    """Both run in scripts that clean up."""
    assert CliRunner().invoke(app, ["list"]).stdout == ""
    assert CliRunner().invoke(app, ["purge"]).stdout == "nothing to remove\n"
