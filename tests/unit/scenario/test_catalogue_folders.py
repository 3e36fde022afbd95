"""Whose scenario a name means: the user's own, or one that comes with Stowage."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.scenario.catalogue import find_shipped_folder, select
from stowage_testbed.scenario.load import find_files
from stowage_testbed.scenario.starter import write_starter

FOLDER = Path("scenarios")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_without_a_folder_all_that_come_with_stowage_are_meant() -> None:
    """`stowage run` must do something sensible right after `pip install`."""
    found = select((), folder=FOLDER)

    assert {one.path for one in found} == set(find_files(find_shipped_folder()))


def test_with_a_folder_only_its_own_are_meant() -> None:
    """In a project of its own, `stowage run` runs that project's scenarios."""
    write_starter("web/scale-up", FOLDER)

    assert {one.name for one in select((), folder=FOLDER)} == {"web/scale-up"}


def test_a_name_of_the_users_own_folder_comes_first() -> None:
    """Who copies a scenario to change it wants the changed one."""
    mine = write_starter("paper/figure-1", FOLDER)

    found = select(["paper/figure-1"], folder=FOLDER)

    assert {one.path for one in found} == {mine}


def test_a_name_that_the_folder_lacks_is_one_of_ours() -> None:
    """Having a first scenario must not take the others away."""
    write_starter("web/scale-up", FOLDER)

    (found,) = select(["paper/figure-1"], folder=FOLDER)

    assert found.path == find_shipped_folder() / "paper" / "figure-1.yaml"


def test_a_name_that_nobody_has_is_answered_with_close_ones_of_both() -> None:
    """A typing error is likely in either."""
    write_starter("paper/figure-2", FOLDER)

    with pytest.raises(StowageError, match=r"figure-2.*figure-1"):
        select(["paper/figure-3"], folder=FOLDER)
