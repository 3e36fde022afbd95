"""`stowage run` with bad input: one message, exit code 2, no cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.cli.run_session import RunSession

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("STOWAGE_CACHE", str(cache))
    monkeypatch.chdir(CHECKOUT)
    return cache


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "cannot read nowhere.yaml"),
        (["paper/figure-2"], "no scenario is called 'paper/figure-2'"),
        (["paper/figure-1", "--variant", "big"], "a variant 'big'"),
        (["--label", "none-such"], "no scenario was chosen"),
        (["paper/figure-1"], "run: stowage tools install etcd"),
    ],
)
def test_bad_input_is_one_message(
    arguments: list[str], message: str, empty_cache: Path
) -> None:
    """Nothing is started for a run that cannot come to an end."""
    result = CliRunner().invoke(app, ["run", *arguments])

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("stowage: ")
    assert not empty_cache.exists()


def test_an_unwritable_results_folder_is_found_before_the_run(
    tmp_path: Path,
) -> None:
    """Results that cannot be written would be lost after minutes of work."""
    blocker = tmp_path / "file"
    blocker.write_text("in the way")

    with pytest.raises(InputError, match="cannot write results to"):
        RunSession(blocker / "results", None, None)


def test_help_does_not_load_the_client() -> None:
    """`stowage --help` must not take seconds."""
    code = (
        "import sys, stowage_testbed.cli; "
        "print([m for m in ('kubernetes.client', 'ortools') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "[]"
