"""What decides an image, where its archive is found, and what Docker is asked."""

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.images.docker_engine import (
    DockerCommandError,
    EngineUnreachableError,
    check_engine,
    docker,
    engine_unavailable_reason,
)
from stowage_testbed.images.recipe import (
    CONTENT_LABEL,
    EPOCH,
    RECIPES,
    ImageMissingError,
    Recipe,
    RecipesMissingError,
    check_image,
    content_key,
    recipe_of,
    recipes,
    recipes_home,
    source_epoch,
)
from stowage_testbed.images.recipe import _run as run

CHECKOUT = Path(__file__).parents[3]
PLAIN = Recipe("optimizer", "stowage/optimizer", "1", ("optimizer",))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout without history that holds what the recipe needs."""
    monkeypatch.setenv(EPOCH, "1700000000")
    unread = shutil.ignore_patterns("__pycache__")
    for name in (str(RECIPES), "optimizer"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=unread)
    monkeypatch.setattr(layout, "checkout", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("recipe", recipes().values(), ids=lambda one: one.name)
def test_every_recipe_has_its_folder(recipe: Recipe) -> None:
    """A name without one would be noticed only when somebody builds it."""
    assert (CHECKOUT / RECIPES / recipe.name / "Containerfile").is_file()
    assert recipe.base in {"", *recipes()}


def test_an_image_is_another_one_if_its_content_or_base_is(checkout: Path) -> None:
    """Else CI would build each at every commit, or prove nothing with an old one."""
    before = content_key(PLAIN)
    (checkout / "optimizer" / "__pycache__").mkdir()
    (checkout / "optimizer" / "__pycache__" / "x.pyc").write_bytes(b"compiled")
    assert content_key(PLAIN) == before

    based = content_key(recipe_of("optimizer"))
    assert content_key(recipe_of("optimizer"), "python:3.11-slim") != based
    keys = {before}
    for changed in ("optimizer/errors.py", "ci/images/optimizer/install.py"):
        with (checkout / changed).open("a") as file:
            file.write("\n# changed\n")
        keys.add(content_key(PLAIN))
    assert len(keys) == 3


def test_files_bear_the_time_that_the_environment_says_or_that_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reproducible builds agree on that variable; a commit gives one image anywhere."""
    monkeypatch.setenv(EPOCH, "1700000000")
    assert source_epoch(PLAIN) == "1700000000"
    monkeypatch.delenv(EPOCH)

    first, again = (source_epoch(PLAIN) for _ in range(2))
    assert first == again > "1700000000"


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    """A typing error should not need the sources to be read."""
    with pytest.raises(StowageError, match="scheduler, optimizer, node"):
        recipe_of("shceduler")
    said = CliRunner().invoke(app, ["images", "build", "--list"])
    assert "stowage/optimizer" in said.stdout


def test_a_failed_step_shows_its_last_lines() -> None:
    """Builders print hundreds of lines before."""
    script = "for i in $(seq 99); do echo line $i; done; exit 3"

    with pytest.raises(StowageError, match="line 99") as error:
        run("optimizer", ["/bin/sh", "-c", script])

    assert "line 50" not in str(error.value)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of the PATH besides the shell's, still empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/bin")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return folder


def a_docker(folder: Path, script: str) -> None:
    (folder / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "docker").chmod(0o755)


def test_an_engine_is_asked_by_its_name_and_has_no_fault_if_it_answers(programs: Path) -> None:
    """A cluster's containers are on the engine that it was started on."""
    a_docker(programs, 'echo "$@"')

    assert engine_unavailable_reason() == ""
    assert docker("ps", engine="unix:///a") == "--host unix:///a ps"
    assert docker("ps") == "ps"


def test_a_refusal_is_quoted_in_docker_s_own_words(programs: Path) -> None:
    """Its last line names the cause."""
    a_docker(programs, "echo client >&2; echo 'permission denied' >&2; exit 1")

    assert engine_unavailable_reason() == "permission denied"
    with pytest.raises(DockerCommandError, match="docker ps --all failed"):
        docker("ps", "--all")


def test_no_docker_at_all_names_the_package(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a new machine it is the first thing that is missing."""
    monkeypatch.setenv("PATH", str(programs))

    with pytest.raises(EngineUnreachableError, match=r"apt-get install docker\.io"):
        docker("ps")
    with pytest.raises(EngineUnreachableError, match="DOCKER_HOST"):
        check_engine()


def test_an_image_is_the_engine_s_only_if_it_is_of_these_sources(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout builds it, or another one of today; an installed package has no recipes, and takes what is there."""
    recipe = recipe_of("base")
    key = content_key(recipe)
    a_docker(programs, "exit 0")
    with pytest.raises(ImageMissingError, match="stowage images build base"):
        check_image(recipe)
    a_docker(programs, f'case "$*" in "image ls"*) echo sha256:a ;; *{CONTENT_LABEL}*) echo {key} ;; esac')
    check_image(recipe)
    a_docker(programs, "echo sha256:old")
    with pytest.raises(ImageMissingError, match="of these sources"):
        check_image(recipe)
    monkeypatch.setattr(layout, "checkout", lambda: None)
    check_image(recipe)
    with pytest.raises(RecipesMissingError, match="pull those of its release"):
        recipes_home()
