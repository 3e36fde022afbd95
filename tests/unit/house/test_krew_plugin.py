"""The plugin of kubectl as krew gets it: archives, their launcher, and the manifest."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
BUILDER = ROOT / "ci" / "krew_plugin.py"
LAUNCHER = ROOT / "ci" / "krew" / "kubectl-stowage"

NEEDS = {
    "stowage": ["PyYAML>=6", "stowage-optimizer==0.1.0", 'mypy; extra == "dev"'],
    "stowage_optimizer": ['numba; sys_platform == "darwin"'],
}

PYTHON = """#!/bin/sh
echo "$@" >>"$CALLS"
case "$1 $2" in
  "-c "*) exit "$TOO_OLD" ;;
  "-m venv")
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    printf '#!/bin/sh\\necho "plugin called with $*"\\n' >"$3/bin/kubectl-stowage"
    chmod +x "$3/bin/kubectl-stowage" ;;
  "-m pip") exit "$NO_INDEX" ;;
esac
"""


def make_wheel(folder: Path, name: str, tag: str) -> None:
    metadata = [f"Name: {name}", *(f"Requires-Dist: {one}" for one in NEEDS[name])]
    with zipfile.ZipFile(folder / f"{name}-0.1.0-py3-none-{tag}.whl", "w") as archive:
        member = zipfile.ZipInfo(f"{name}-0.1.0.dist-info/METADATA")
        archive.writestr(member, "\n".join(metadata))


def build(wheels: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BUILDER), str(wheels), str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in NEEDS:
        make_wheel(folder, name, "any")
    make_wheel(folder, "stowage", "manylinux_2_28_x86_64")
    return folder


@pytest.fixture(scope="module")
def built(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("krew")
    made = build(wheels, folder)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="module")
def manifest(built: Path) -> dict[str, Any]:
    (path,) = built.glob("*.yaml")
    read: dict[str, Any] = yaml.safe_load(path.read_text())
    assert path.stem == read["metadata"]["name"]
    return read


def test_krew_accepts_the_manifest(manifest: dict[str, Any]) -> None:
    """What its internal/index/validation/validate.go demands, rule for rule."""
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert manifest["kind"] == "Plugin"
    assert re.fullmatch(r"[\w-]+", manifest["metadata"]["name"])
    spec = manifest["spec"]
    assert spec["shortDescription"]
    assert not {"\r", "\n"} & set(spec["shortDescription"])
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[\w.]+)?", spec["version"])
    known = {"version", "homepage", "shortDescription", "description", "caveats"}
    assert set(spec) == known | {"platforms"}
    for platform in spec["platforms"]:
        assert set(platform) == {"selector", "uri", "sha256", "bin"}
        assert re.fullmatch(r"[a-f0-9]{64}", platform["sha256"])
        assert set(platform["selector"]["matchLabels"]) == {"os", "arch"}


def test_each_platform_has_the_archive_that_the_release_serves(
    manifest: dict[str, Any], built: Path
) -> None:
    """A wrong digest, address or program is found by the user otherwise."""
    seen = set()
    for platform in manifest["spec"]["platforms"]:
        address, _, name = platform["uri"].rpartition("/")
        content = (built / name).read_bytes()
        assert address.endswith("/releases/download/v0.1.0")
        assert hashlib.sha256(content).hexdigest() == platform["sha256"]
        with tarfile.open(built / name) as archive:
            program = archive.getmember(platform["bin"])
            assert "LICENSE" in archive.getnames()
        assert program.mode & 0o111
        labels = platform["selector"]["matchLabels"]
        assert f"_{labels['os']}_{labels['arch']}." in name
        seen.add((labels["os"], labels["arch"]))
    assert seen == {
        (os, arch) for os in ("linux", "darwin") for arch in ("amd64", "arm64")
    }


def test_the_archive_pins_what_users_need_and_nothing_of_developers(
    built: Path,
) -> None:
    """Each package by hash, on any platform; the project's own are in the archive."""
    with tarfile.open(built / "kubectl-stowage_v0.1.0_darwin_arm64.tar.gz") as archive:
        member = archive.extractfile("requirements.txt")
        assert member is not None
        text = member.read().decode()
    pinned = re.findall(r"^(\S+)==", text, re.MULTILINE)

    assert {"pyyaml", "numba", "llvmlite", "numpy"} <= set(pinned)
    assert not {"mypy", "ruff", "stowage", "stowage-optimizer"} & set(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)


def test_a_platforms_own_wheel_is_taken_where_there_is_one(built: Path) -> None:
    """It carries programs that others would have to build."""
    own = "stowage-0.1.0-py3-none-manylinux_2_28_x86_64.whl"
    for platform, there in (("linux_amd64", True), ("linux_arm64", False)):
        path = built / f"kubectl-stowage_v0.1.0_{platform}.tar.gz"
        with tarfile.open(path) as archive:
            assert (own in archive.getnames()) == there


def test_the_same_wheels_give_the_same_archives(
    wheels: Path, built: Path, tmp_path: Path
) -> None:
    """Whoever doubts a digest can make it anew."""
    assert build(wheels, tmp_path).returncode == 0

    for path in built.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_missing_wheel_is_named_with_the_way_to_it(tmp_path: Path) -> None:
    """An archive without the program would be released otherwise."""
    made = build(tmp_path, tmp_path / "out")

    assert made.returncode == 1
    assert "no wheel of stowage for linux/amd64; make wheel builds it" in made.stderr


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> Path:
    """Return the program as krew installs it: a link to a file in its store."""
    store = tmp_path / "store"
    with tarfile.open(built / "kubectl-stowage_v0.1.0_linux_arm64.tar.gz") as archive:
        archive.extractall(store, filter="data")
    link = tmp_path / "bin" / "kubectl-stowage"
    link.parent.mkdir()
    link.symlink_to("../store/kubectl-stowage")
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    return link


def launch(
    program: Path, *, too_old: bool = False, no_index: bool = False
) -> subprocess.CompletedProcess[str]:
    home = program.parent.parent
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "STOWAGE_PYTHON": str(home / "python"),
        "CALLS": str(home / "calls"),
        "TOO_OLD": str(int(too_old)),
        "NO_INDEX": str(int(no_index)),
    }
    return subprocess.run(
        [program, "savings", "--context", "a b"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_call_installs_by_hash_and_the_next_ones_do_not(
    installed: Path,
) -> None:
    """It takes a minute once, and every package is one that the release pins."""
    first, second = launch(installed), launch(installed)

    calls = (installed.parent.parent / "calls").read_text().splitlines()
    assert first.stdout == second.stdout == "plugin called with savings --context a b\n"
    assert "installing Stowage 0.1.0 into" in first.stderr
    assert second.stderr == ""
    pip = [call for call in calls if call.startswith("-m pip")]
    assert len(pip) == 2
    assert "--require-hashes -r" in pip[0]
    assert "--no-deps --no-index" in pip[1]
    assert pip[1].count(".whl") == 2


def test_an_installation_that_broke_off_is_begun_anew(installed: Path) -> None:
    """Half an environment would fail at every call."""
    broken = launch(installed, no_index=True)
    repaired = launch(installed)

    assert broken.returncode == 1
    assert "its packages could not be installed" in broken.stderr
    assert "PIP_INDEX_URL" in broken.stderr
    assert repaired.stdout.startswith("plugin called")


def test_an_old_python_is_named_before_anything_is_made(installed: Path) -> None:
    """The message of pip would be of packages that nobody asked for."""
    refused = launch(installed, too_old=True)

    assert refused.returncode == 1
    assert "Python 3.11 or later" in refused.stderr
    assert "STOWAGE_PYTHON" in refused.stderr
    assert not (installed.parent.parent / ".local").exists()
