"""Wrong input ends with a message that names it, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.cli.reproducing import numbers, words
from stowage_testbed.instances.cell import grid
from stowage_testbed.reproduce.instance.request import choose_cells


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cells", "n5-*"], "no cell of the grid is called so"),
        (["--limits", "0"], "different numbers of more than 0"),
        (["--limits", "1,x"], "different numbers of more than 0"),
        (["--limits", "1,1"], "different numbers of more than 0"),
        (["--limits", "nan"], "different numbers of more than 0"),
        (["--strategies", "paper,,z3"], "different names"),
        (["--shard", "9/8"], "must be i/n"),
    ],
)
def test_a_wrong_option_is_named_and_ends_with_two(
    options: list[str], said: str, tmp_path: Path
) -> None:
    """A sweep of hours over the wrong cells costs more than a message."""
    answer = CliRunner().invoke(
        app, ["reproduce", "paper", *options, "--results", str(tmp_path / "r")]
    )
    assert answer.exit_code == 2
    assert said in answer.output
    assert not (tmp_path / "r").exists()


def test_lists_are_read_with_blanks() -> None:
    """People write them so."""
    assert words("paper, z3", "--strategies") == ("paper", "z3")
    assert numbers("1, 10,20", "--limits") == (1.0, 10.0, 20.0)
    with pytest.raises(InputError):
        numbers("", "--limits")


def test_cells_are_chosen_by_pattern_in_the_order_of_the_grid() -> None:
    """Without one all 96 are meant."""
    assert len(choose_cells((), grid())) == 96
    names = [cell.name for cell in choose_cells(["n8-p4-k1-*", "n4-p4-k1-u95"], grid())]
    assert names[0] == "n4-p4-k1-u95"
    assert len(names) == 5
