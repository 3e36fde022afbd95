"""What decides an image, and where its archive is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.images.archive import (
    ImageMissingError,
    archive_of,
    built_archive,
)
from stowage_testbed.images.command import check_builders, run
from stowage_testbed.images.content import EPOCH, content_key, source_epoch
from stowage_testbed.images.recipe import (
    RECIPES,
    Recipe,
    RecipesMissingError,
    recipe_of,
    recipes,
)

CHECKOUT = Path(__file__).parents[3]
PLAIN = Recipe("optimizer", "stowage/optimizer", "1", ("optimizer",))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout without history that holds what the recipe needs."""
    monkeypatch.setenv(EPOCH, "1700000000")
    for name in (str(RECIPES), "optimizer"):
        shutil.copytree(
            CHECKOUT / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    return tmp_path


@pytest.mark.parametrize("recipe", recipes().values(), ids=lambda one: one.name)
def test_every_recipe_has_its_folder(recipe: Recipe) -> None:
    """A name without one would be noticed only when somebody builds it."""
    assert (CHECKOUT / RECIPES / recipe.name / "Containerfile").is_file()
    assert recipe.base in {"", *recipes()}


def test_the_same_content_has_the_same_key(checkout: Path) -> None:
    """Else CI would build every image at every commit."""
    before = content_key(PLAIN, checkout)
    (checkout / "optimizer" / "__pycache__").mkdir()
    (checkout / "optimizer" / "__pycache__" / "x.pyc").write_bytes(b"compiled")

    assert content_key(PLAIN, checkout) == before


@pytest.mark.parametrize(
    "changed", ["optimizer/errors.py", "ci/images/optimizer/install.py"]
)
def test_a_changed_source_has_another_key(checkout: Path, changed: str) -> None:
    """An old image with new tests would prove nothing."""
    before = content_key(PLAIN, checkout)
    with (checkout / changed).open("a") as file:
        file.write("\n# changed\n")

    assert content_key(PLAIN, checkout) != before


def test_another_base_has_another_key(checkout: Path) -> None:
    """It is most of what is in the image."""
    ours = content_key(recipe_of("optimizer"), checkout)

    assert content_key(recipe_of("optimizer"), checkout, "python:3.11-slim") != ours


def test_files_bear_the_time_that_the_environment_says(checkout: Path) -> None:
    """Reproducible builds agree on that variable."""
    assert source_epoch(PLAIN, checkout) == 1_700_000_000


def test_in_a_checkout_they_bear_the_time_of_the_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same commit gives the same image on any machine."""
    monkeypatch.delenv(EPOCH, raising=False)

    assert (
        source_epoch(PLAIN, CHECKOUT) == source_epoch(PLAIN, CHECKOUT) > 1_700_000_000
    )


def test_an_image_that_is_not_built_says_how_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sources may have changed since it was."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))

    assert archive_of(recipe_of("scheduler")).file.is_relative_to(tmp_path)
    with pytest.raises(ImageMissingError, match="stowage images build scheduler"):
        built_archive(recipe_of("scheduler"))


def test_an_installed_package_builds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no recipes: the way out is another one."""
    monkeypatch.setattr(layout, "checkout", lambda: None)

    with pytest.raises(RecipesMissingError, match="pull those of its release"):
        archive_of(recipe_of("scheduler"))


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    """A typing error should not need the sources to be read."""
    with pytest.raises(StowageError, match="scheduler, optimizer, node"):
        recipe_of("shceduler")
    said = CliRunner().invoke(app, ["images", "list"])
    assert "stowage/optimizer" in said.stdout


def test_missing_builders_are_named_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One a try would take two tries."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(StowageError, match="apt-get install buildah mmdebstrap"):
        check_builders()


def test_a_failed_step_shows_its_last_lines() -> None:
    """Builders print hundreds of lines before."""
    script = "for i in $(seq 99); do echo line $i; done; exit 3"

    with pytest.raises(StowageError, match="line 99") as error:
        run("optimizer", ["/bin/sh", "-c", script])

    assert "line 50" not in str(error.value)
