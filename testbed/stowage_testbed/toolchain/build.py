"""Tools from their Go modules, side by side, with the modules' data."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain.go_commands import GoCommands, go_failed
from stowage_testbed.toolchain.golang import Go, go_environment
from stowage_testbed.toolchain.location import data_folder
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.progress import ToolWatcher
from stowage_testbed.toolchain.turns import Turns

_DOWNLOADING = "go: downloading "
_LISTED = "{{.ImportPath}}@{{with .Module}}{{.Path}}@{{.Version}}{{end}}"
"""A package and its module: what is compiled once for all tools."""

_PASSING = re.compile(
    r"time[d-]* ?out|connection (reset|refused)|unexpected EOF|temporary failure|"
    r"no such host|: (429|50[0234]) ",
    re.IGNORECASE,
)
"""What Go says of a download that may succeed in a moment."""

NO_DWARF = "-gcflags=all=-dwarf=false"
"""What is for debuggers is stripped from each program: not to make it at all saves a
sixth of the compiling."""

FETCH_TRIES = 4
FETCH_PAUSE_S = 2.0
"""The first pause; it doubles with every try."""

_FETCHING_AT_ONCE = 2


class Builder:
    """Builds the tools of one installation, which share Go's caches.

    The tools of Kubernetes and Stowage's own have nearly all packages in common. They
    are compiled one after the other, so that none is compiled twice, and the tools of
    others beside them. Those have packages of Kubernetes, too: they wait for the first
    of its tools, unless they are named before it. While one is linked, on one core, the
    next is compiled.
    """

    def __init__(self, tools: Sequence[Tool], find_go: Callable[[], Go], clock: Clock | None = None) -> None:
        self._find_go = find_go
        self._clock = clock or SystemClock()
        self._commands = GoCommands()
        self._fetching = Turns([tool.name for tool in tools], _FETCHING_AT_ONCE)
        first = next((tool for tool in tools if tool.version_flags), None)
        others = [one for one in tools if not one.version_flags or one is first]
        self._compiling = {
            True: Turns([tool.name for tool in tools if tool.version_flags]),
            False: Turns([tool.name for tool in others]),
        }
        self._compiled: set[str] = set()

    def build(self, tool: Tool, target: Path, watcher: ToolWatcher) -> Go:
        """Build a tool into the file ``target``, with its module's data beside it.

        Returns the Go that has built it.

        Raises
        ------
        StowageError
            Go refused, or the tool's module does not hold its data.
        OSError
            ENOSPC: the disk filled up.
        TurnsEndedError
            `end` was called.
        """
        go = self._find_go()
        self._fetching.wait(tool.name)
        packages = self._fetch(tool, target.parent, watcher)
        self._fetching.done(tool.name)
        watcher.starts("waiting")
        watcher.starts("waiting")
        self._compiling[tool.version_flags].wait(tool.name)
        self._compile(tool, target, packages, watcher)
        self.leave_out(tool)
        _copy_module_data(tool, go, data_folder(target))
        return go

    def take_in(self, tool: Tool) -> None:
        """Give a tool its turns, which it was not to have at first, as the last one."""
        self._fetching.add(tool.name)
        self._compiling[tool.version_flags].add(tool.name)

    def leave_out(self, tool: Tool) -> None:
        """Let others go on: the tool is there, or as good as that."""
        for turns in (self._fetching, *self._compiling.values()):
            turns.done(tool.name)

    def end(self) -> None:
        """Kill what is being built, and let nothing begin any more."""
        self._commands.end()
        for turns in (self._fetching, *self._compiling.values()):
            turns.end()

    def _fetch(self, tool: Tool, scratch: Path, watcher: ToolWatcher) -> dict[str, str]:
        """Fetch all modules, and return the tool's packages by their import paths.

        The last one is the program itself. Of hundreds of downloads one may time out,
        so fetching is tried again.
        """
        pause_s = FETCH_PAUSE_S
        for _ in range(FETCH_TRIES - 1):
            try:
                return self._list(tool, scratch, watcher)
            except StowageError as error:
                if not _PASSING.search(str(error)):
                    raise
                watcher.note = f"a download failed, again in {pause_s:g} s"
            self._clock.pause(pause_s)
            pause_s *= 2
        return self._list(tool, scratch, watcher)

    def _list(self, tool: Tool, scratch: Path, watcher: ToolWatcher) -> dict[str, str]:
        watcher.starts("fetching")
        packages: dict[str, str] = {}

        def follow(line: str) -> None:
            if line.startswith(_DOWNLOADING):
                watcher.advance(1, line.removeprefix(_DOWNLOADING))
            elif " " not in line:
                packages[line.split("@", 1)[0]] = line

        command = [str(self._find_go().file), "list", *_module(tool)]
        command += ["-deps", "-f", _LISTED, tool.package]
        self._commands.run(tool, command, scratch, follow)
        return packages

    def _compile(self, tool: Tool, target: Path, packages: dict[str, str], watcher: ToolWatcher) -> None:
        program = next(reversed(packages), None)
        watcher.starts("compiling", total=len(packages))
        watcher.reach(len(self._compiled.intersection(packages.values())))

        def follow(line: str) -> None:
            # Go names a package when it begins with it, and none that it has in cache.
            if line not in packages:
                return
            self._compiled.add(packages[line])
            watcher.reach(len(self._compiled.intersection(packages.values())), line)
            if line == program:
                self.leave_out(tool)
                watcher.starts("linking")

        command = [str(self._find_go().file), "build", *_module(tool), "-trimpath", NO_DWARF, "-v"]
        command += ["-ldflags", tool.ldflags, "-o", str(target), tool.package]
        self._commands.run(tool, command, target.parent, follow)
        self._compiled.update(packages.values())


def _module(tool: Tool) -> list[str]:
    return [f"-modfile={tool.module_file}", f"-tags={tool.tags}"]


def _copy_module_data(tool: Tool, go: Go, target: Path) -> None:
    """Copy what the manifest names of the tool's module into the folder ``target``.

    They are taken from the very module that the tool is built from, so that both are of
    one version, and no copies have to be kept in step.
    """
    if tool.data is None:
        return
    source = _module_folder(tool, go, tool.data.module)
    for path in tool.data.paths:
        files = _files(source / path)
        if not files:
            raise StowageError(
                f"{tool.name}: the Go module {tool.data.module} holds no {path}; "
                "correct the tool's data in "
                "testbed/stowage_testbed/toolchain/manifest.toml"
            )
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Without its permissions: Go's cache is read-only, the copy must not be.
            shutil.copyfile(file, copy)


def _module_folder(tool: Tool, go: Go, module: str) -> Path:
    file = f"-modfile={tool.module_file}"
    command = [str(go.file), "list", file, "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(command, cwd=tool.folder, env=go_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise go_failed(tool, command, done.stderr.splitlines())
    return Path(done.stdout.strip())


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())
