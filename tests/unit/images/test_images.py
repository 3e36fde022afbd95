"""What decides an image, where its archive is found, and what Docker is asked."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.images.archive import ImageMissingError, archive_of, built_archive
from stowage_testbed.images.command import check_builders, run
from stowage_testbed.images.content import EPOCH, content_key, source_epoch
from stowage_testbed.images.docker_archive import differing_files, open_member, write_program_archive
from stowage_testbed.images.docker_engine import (
    DockerCommandError,
    EngineUnreachableError,
    check_engine,
    docker,
    engine_unavailable_reason,
)
from stowage_testbed.images.recipe import RECIPES, Recipe, RecipesMissingError, recipe_of, recipes

CHECKOUT = Path(__file__).parents[3]
PLAIN = Recipe("optimizer", "stowage/optimizer", "1", ("optimizer",))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout without history that holds what the recipe needs."""
    monkeypatch.setenv(EPOCH, "1700000000")
    unread = shutil.ignore_patterns("__pycache__")
    for name in (str(RECIPES), "optimizer"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=unread)
    return tmp_path


@pytest.mark.parametrize("recipe", recipes().values(), ids=lambda one: one.name)
def test_every_recipe_has_its_folder(recipe: Recipe) -> None:
    """A name without one would be noticed only when somebody builds it."""
    assert (CHECKOUT / RECIPES / recipe.name / "Containerfile").is_file()
    assert recipe.base in {"", *recipes()}


def test_an_image_is_another_one_if_its_content_or_base_is(checkout: Path) -> None:
    """Else CI would build each at every commit, or prove nothing with an old one."""
    before = content_key(PLAIN, checkout)
    (checkout / "optimizer" / "__pycache__").mkdir()
    (checkout / "optimizer" / "__pycache__" / "x.pyc").write_bytes(b"compiled")
    assert content_key(PLAIN, checkout) == before

    based = content_key(recipe_of("optimizer"), checkout)
    assert content_key(recipe_of("optimizer"), checkout, "python:3.11-slim") != based
    keys = {before}
    for changed in ("optimizer/errors.py", "ci/images/optimizer/install.py"):
        with (checkout / changed).open("a") as file:
            file.write("\n# changed\n")
        keys.add(content_key(PLAIN, checkout))
    assert len(keys) == 3


def test_files_bear_the_time_that_the_environment_says_or_that_of_the_commit(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reproducible builds agree on that variable; a commit gives one image anywhere."""
    assert source_epoch(PLAIN, checkout) == 1_700_000_000
    monkeypatch.delenv(EPOCH)

    first, again = (source_epoch(PLAIN, CHECKOUT) for _ in range(2))
    assert first == again > 1_700_000_000


def test_an_image_that_is_not_there_says_how_to_come_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout builds it; an installed package has no recipes."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    recipe = recipe_of("scheduler")

    assert archive_of(recipe).file.is_relative_to(tmp_path)
    with pytest.raises(ImageMissingError, match="stowage images build scheduler"):
        built_archive(recipe)
    monkeypatch.setattr(layout, "checkout", lambda: None)
    with pytest.raises(RecipesMissingError, match="pull those of its release"):
        archive_of(recipe)


def test_a_wrong_name_is_answered_with_the_right_ones() -> None:
    """A typing error should not need the sources to be read."""
    with pytest.raises(StowageError, match="scheduler, optimizer, node"):
        recipe_of("shceduler")
    said = CliRunner().invoke(app, ["images", "build", "--list"])
    assert "stowage/optimizer" in said.stdout


def test_missing_builders_are_named_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def an_image(folder: Path, name: str, content: bytes = b"\x7fELF program") -> Path:
    """Write an image of one program, which needs no engine."""
    program = folder / "etcd"
    program.write_bytes(content)
    write_program_archive(folder / name, "stowage/etcd:v1", program, ["/e"])
    return folder / name


def test_the_same_program_gives_the_same_image_and_others_are_named(tmp_path: Path) -> None:
    """A cluster would load it anew; a digest leaves half a gigabyte to look through."""
    one, two = an_image(tmp_path, "one"), an_image(tmp_path, "two")
    other = an_image(tmp_path, "other", b"today")

    assert one.read_bytes() == two.read_bytes()
    assert differing_files(one, two) == []
    assert differing_files(one, other) == ["usr/local/bin/etcd"]


def test_an_image_holds_the_program_and_what_engines_check(tmp_path: Path) -> None:
    """An engine refuses a layer whose digest is not the one that was announced."""
    with tarfile.open(an_image(tmp_path, "image")) as archive:
        (entry,) = json.loads(archive.extractfile("manifest.json").read())  # type: ignore[union-attr]
        config = open_member(archive, entry["Config"]).read()
        layer = open_member(archive, entry["Layers"][0]).read()
    (tmp_path / "layer").write_bytes(layer)
    with tarfile.open(tmp_path / "layer") as files:
        (member,) = files.getmembers()

    described = json.loads(config)
    digest = hashlib.sha256(layer).hexdigest()
    assert entry["RepoTags"] == ["stowage/etcd:v1"]
    assert entry["Config"] == f"{hashlib.sha256(config).hexdigest()}.json"
    assert described["rootfs"]["diff_ids"] == [f"sha256:{digest}"]
    assert described["config"]["Entrypoint"] == ["/e"]
    assert (member.name, member.mode, member.uid) == ("usr/local/bin/etcd", 0o755, 0)


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
