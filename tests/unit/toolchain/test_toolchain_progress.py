"""What is said while tools are installed, and that they are built side by side."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from small_tools import a_manifest, a_tool

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.toolchain import progress as progress_module
from stowage_testbed.toolchain.build import Builder
from stowage_testbed.toolchain.golang import Go
from stowage_testbed.toolchain.install import install_missing
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.progress import (
    LINE_EVERY_S,
    ToolWatcher,
    saying_for_how_long,
    show_progress,
)
from stowage_testbed.toolchain.source import SourceKind, ToolSource


def a_watcher(doing: str, done: int = 0, total: int = 0) -> ToolWatcher:
    watcher = ToolWatcher("etcd")
    watcher.starts(doing, total)
    watcher.reach(done)
    return watcher


@pytest.mark.parametrize(
    ("watcher", "said"),
    [
        (ToolWatcher("etcd"), "etcd waiting"),
        (a_watcher("fetching", 12), "etcd 12 modules fetched"),
        (a_watcher("compiling", 812, 2079), "etcd 812 of 2,079 packages"),
        (a_watcher("linking"), "etcd linking"),
        (a_watcher("downloading", 5 << 10, 20 << 10), "etcd 5 of 20 MiB"),
        (a_watcher("downloading", 5 << 10), "etcd 5 MiB"),
    ],
)
def test_a_line_says_what_a_tool_is_at(watcher: ToolWatcher, said: str) -> None:
    """With what is done, and of how much where that is known."""
    assert watcher.in_words() == said


def test_a_log_gets_a_line_at_least_every_five_seconds(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI log that stands still for nine minutes looks like a program that hangs."""
    assert LINE_EVERY_S < 5
    monkeypatch.setattr(progress_module, "LINE_EVERY_S", 0.01)
    lines: list[str] = []

    def seen() -> int:
        lines.extend(capfd.readouterr().err.splitlines())
        return len(lines)

    with show_progress(["etcd", "helm"], "begins") as progress:
        progress.watchers["etcd"].starts("compiling", 565)
        progress.watchers["helm"].is_installed()
        wait_until("two lines", seen, lambda count: count > 1, timeout_s=HANG_S)
    with saying_for_how_long("compiling"):
        before = seen()
        wait_until("two more", seen, lambda count: count > before + 1, timeout_s=HANG_S)

    assert "tools: 0 s, 1 of 2 installed; etcd 0 of 565 packages" in lines
    assert lines[-1] == "compiling: 0 s"


GO = """#!/bin/sh
name=$(basename "$PWD")
case $1 in
  list) echo shared@m@v1.0.0; echo "$name@" ;;
  build)
    while [ "$1" != -o ]; do shift; done
    echo built >"$2"
    echo "$name begins" >>"{folder}/log"
    if [ "$name" = first ]; then
      echo shared
      echo "$name is compiled" >>"{folder}/log"
      echo "$name"
      read -r line <"{folder}/pipe"
    else
      echo "$name"
      echo >"{folder}/pipe"
    fi ;;
esac
"""


def built_side_by_side(folder: Path, *of_kubernetes: bool) -> list[str]:
    """Build two tools, and return what Go did in which order.

    Go links the first one until the second one is compiled.
    """
    os.mkfifo(folder / "pipe")
    file = folder / "go"
    file.write_text(GO.format(folder=folder))
    file.chmod(0o755)
    tools = [
        replace(a_tool(folder / name, name=name), version_flags=flag)
        for name, flag in zip(("first", "second"), of_kubernetes, strict=True)
    ]
    builder = Builder(tools, lambda: Go(file, "1.26.4"))

    def build(tool: Tool) -> None:
        builder.build(tool, folder / f"built-{tool.name}", ToolWatcher(tool.name))

    threads = [Thread(target=build, args=(tool,), daemon=True) for tool in tools[::-1]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    assert [thread.is_alive() for thread in threads] == [False, False]
    return (folder / "log").read_text().splitlines()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("of_kubernetes", [(False, False), (True, True), (True, False)])
def test_a_tool_is_compiled_while_the_one_before_is_linked(
    tmp_path: Path, of_kubernetes: tuple[bool, bool]
) -> None:
    """Linking takes one core; before, both would compile what they share."""
    assert built_side_by_side(tmp_path, *of_kubernetes) == [
        "first begins",
        "first is compiled",
        "second begins",
    ]


@pytest.mark.usefixtures("cache")
def test_a_tool_named_before_those_of_kubernetes_holds_none_of_them_up(
    tmp_path: Path,
) -> None:
    """It has packages of its own, so that both cores have work from the start."""
    etcd = a_tool(tmp_path / "etcd", name="etcd")
    server = replace(a_tool(tmp_path / "server", name="server"), version_flags=True)
    file = tmp_path / "go"
    file.write_text('#!/bin/sh\nwhile [ $# -gt 1 ] && [ "$1" != -o ]; do shift; done\n')
    file.chmod(0o755)
    builder = Builder([etcd, server], lambda: Go(file, "1.26.4"))

    # In the place of etcd's build, which would have ended its turn.
    builder.build(server, tmp_path / "built", ToolWatcher("server"))


@pytest.mark.usefixtures("cache")
def test_where_tools_come_from_is_said_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """And why."""
    tool = a_tool(tmp_path / "hello")

    install_missing([tool], a_manifest(tool), ToolSource(SourceKind.AUTO))

    first, second = capfd.readouterr().err.splitlines()[:2]
    assert first.startswith("stowage: hello is not installed; installing now, once; ")
    assert first.endswith("the same beforehand: stowage tools install hello")
    assert second == "tools: Go modules for hello (none is released)"
