"""`stowage compare`: what is wrong with its arguments is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app

SCENARIOS = Path(__file__).parents[4] / "scenarios"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no scenario is called 'nowhere'"),
        (["burst/*"], "compare one at a time"),
        (["burst/deployment-200", "--arms", "kube"], "there is no arm 'kube'"),
        (["burst/deployment-200", "--arms", "default,default"], "default"),
        (["burst/deployment-200", "--arms", ""], "nothing to compare"),
        (["burst/deployment-200", "--limits", "mine"], "neither `own`"),
        (["burst/deployment-200", "--arm-file", "mine.yaml"], "mine.yaml"),
        (["burst/deployment-200", "--variant", "huge"], "huge"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments: list[str], said: str) -> None:
    """Exit code 2, the cause and a way out; no cluster is made for it."""
    found = CliRunner().invoke(app, ["compare", *arguments, "--folder", str(SCENARIOS)])

    assert found.exit_code == 2, found.output
    assert said in found.output.replace("\n", " ")
