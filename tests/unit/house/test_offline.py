"""No test fetches, builds or installs what set-up should have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import go_module
import pytest
from offline import naming_the_set_up

from stowage_testbed.toolchain import choose_minor, tool_path
from stowage_testbed.toolchain.location import ToolMissingError, binary_file, is_held
from stowage_testbed.toolchain.manifest import load_manifest

ROOT = Path(__file__).parents[3]
ABSENT = "example.com/absent@v1.0.0"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("go", "mod", "download", ABSENT), "GOPROXY=off"),
        ((sys.executable, "-m", "pip", "download", "absent"), "No matching distrib"),
        ((sys.executable, "-m", "uv", "pip", "install", "absent"), "network was disa"),
    ],
    ids=["go", "pip", "uv"],
)
def test_what_a_test_tries_to_fetch_fails_at_once(
    command: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """On a good day it would pass, and on a busy machine it would time out."""
    (tmp_path / "go.mod").write_text("module m\n")
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "VIRTUAL_ENV": sys.prefix, "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert said in done.stderr


def test_a_go_module_that_was_not_fetched_names_its_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With what Go said: the reason may be another one."""
    listed = tmp_path / "go-modules.txt"
    listed.write_text(f"# a comment\n{ABSENT}\n")
    monkeypatch.setattr(go_module, "LIST", listed)

    with pytest.raises(go_module.ModuleMissingError) as caught:
        go_module.go_module("example.com/absent")

    assert "run: make go-modules" in str(caught.value)
    assert "GOPROXY=off" in str(caught.value)


def test_a_tool_that_is_not_installed_names_its_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever runs one test has not run what `make test` runs before."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))

    with (
        pytest.raises(ToolMissingError, match="etcd is not installed") as caught,
        naming_the_set_up(),
    ):
        tool_path("etcd", choose_minor())

    assert "make test-tools" in caught.value.__notes__[0]


def test_a_tool_of_another_project_that_is_not_installed_skips_the_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Building it takes longer than the test, and the reason names the command."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    command = "run: stowage tools install promtool"

    with pytest.raises(pytest.skip.Exception, match=command), naming_the_set_up():
        tool_path("promtool")


def test_what_set_up_has_built_is_there_until_the_last_test() -> None:
    """Other checkouts on the machine build meanwhile, and few builds are kept."""
    own = [tool for tool in load_manifest().all_tools if tool.own]
    built = [file for file in map(binary_file, own) if file.is_file()]

    assert {"stowage-scheduler", "stowage-simulate"} <= {tool.name for tool in own}
    assert [file for file in built if not is_held(file)] == []


def test_no_test_installs_a_tool() -> None:
    """Building one takes minutes, and its modules are fetched on the way."""
    installing = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"\binstall_tools\(", path.read_text(encoding="utf-8"))
        and path != Path(__file__)
    ]

    assert installing == []
