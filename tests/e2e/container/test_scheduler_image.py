"""The scheduler's image holds the scheduler and nothing else."""

from __future__ import annotations

import json
import tarfile

import pytest

from stowage_testbed.images.archive import built_archive
from stowage_testbed.images.docker_engine import DockerCommandError, docker
from stowage_testbed.images.recipe import recipe_of
from stowage_testbed.toolchain.minors import choose_minor, find_minor

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]

CLOSED = ("--rm", "--read-only", "--cap-drop=ALL", "--network=none")


def test_it_runs_without_rights_and_offers_no_shell(scheduler_image: str) -> None:
    """The chart gives it no more; what is not there serves nobody who breaks in."""
    said = docker("run", *CLOSED, scheduler_image, "--version")
    user = docker("inspect", "--format", "{{.Config.User}}", scheduler_image)

    assert said == f"Kubernetes {find_minor(choose_minor()).kubernetes}"
    assert user == "65532:65532"
    with pytest.raises(DockerCommandError, match=r"no such file|not found"):
        docker("run", *CLOSED, "--entrypoint", "/bin/sh", scheduler_image)


def test_it_is_one_file_in_one_layer(scheduler_image: str) -> None:
    """A base image would bring parts that nobody here looks after."""
    del scheduler_image
    with tarfile.open(built_archive(recipe_of("scheduler")).file) as archive:
        manifest = json.load(archive.extractfile("manifest.json") or _absent())
        (layer,) = manifest[0]["Layers"]
        with tarfile.open(fileobj=archive.extractfile(layer)) as files:
            programs = [one.name for one in files if one.isfile()]

    assert programs == ["usr/local/bin/kube-scheduler"]


@pytest.mark.parametrize("name", ["scheduler", "optimizer"])
def test_its_parts_are_listed(name: str) -> None:
    """Whoever looks for a vulnerable part must find it without unpacking the image."""
    parts = json.loads(built_archive(recipe_of(name)).parts.read_text("utf-8"))

    names = {package["name"] for package in parts["packages"]}
    known = {"scheduler": "k8s.io/kubernetes", "optimizer": "ortools"}
    assert parts["spdxVersion"].startswith("SPDX-")
    assert known[name] in names
    assert name == "scheduler" or "libc6" in names


def _absent() -> tarfile.ExFileObject:
    raise AssertionError("the archive has no manifest")
