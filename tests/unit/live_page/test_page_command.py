"""`stowage page`: what is wrong with the request is said before anything is served."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.errors import InputError, StowageError


def failure(*arguments: str) -> StowageError:
    result = CliRunner().invoke(app, ["page", *arguments])
    assert isinstance(result.exception, StowageError)
    return result.exception


@pytest.mark.parametrize("more", [["--context", "c"], ["--kubeconfig", "k"]])
def test_a_cluster_of_the_testbed_has_its_own_kubeconfig(more: list[str]) -> None:
    """Which of the two was meant is not guessed."""
    error = failure("--cluster", "c", *more)

    assert isinstance(error, InputError)
    assert "leave out --context and --kubeconfig" in str(error)


def test_a_kubeconfig_that_is_not_there_is_an_error_of_the_input(
    tmp_path: Path,
) -> None:
    """As for every command on a cluster."""
    error = failure("--kubeconfig", str(tmp_path / "none"))

    assert isinstance(error, InputError)
    assert "cannot be used" in str(error)


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """Nothing is served then."""
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: c,"
        " contexts: [{name: c, context: {cluster: k, user: u}}],"
        " clusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}],"
        " users: [{name: u, user: {}}]}"
    )

    assert "does not answer" in str(failure("--kubeconfig", str(kubeconfig)))
