"""Small tools to install: a Go module of one file, and its manifest."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from stowage_testbed.toolchain.manifest import Archive, Manifest, Minor, Space, Tool

HELLO = 'package main\n\nfunc main() { println("hello") }\n'


def a_tool(folder: Path, *, source: str = HELLO, own: bool = True, name: str = "hello") -> Tool:
    """Return a tool whose Go module is written to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text("module hello\n\ngo 1.26.0\n")
    (folder / "go.sum").write_text("")
    (folder / "main.go").write_text(source)
    return Tool(name=name, version="v1.2.3", folder=folder, package=".", own=own, version_flags=False, archive=None)


def a_released_tool(folder: Path, url: str, member: str | None = None, digest: str | None = None) -> Tool:
    """Return a tool that has an official archive at ``url``, and maybe its digest."""
    return replace(a_tool(folder, own=False), archive=Archive(url, member, digest))


def a_manifest(*tools: Tool, needed_bytes: int = 0) -> Manifest:
    """Return a manifest of ``tools``."""
    minors = {"1.37": Minor("1.37", "", "", date.max)}
    space = {tool.group: Space(needed_bytes, needed_bytes) for tool in tools}
    return Manifest("1.26.0", minors, space, tools)


def a_program(file: Path, script: str) -> Path:
    """Return an executable file that is this script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}")
    file.chmod(0o755)
    return file
