"""The first `make e2e` of a machine that has nothing of Stowage's yet."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

import psutil

from benchmarks.command import Say, write_figures
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.text.figure import Figure, at_most, figure
from stowage_testbed.toolchain import choose_minor, tool_path
from stowage_testbed.toolchain.manifest import Tool, load_manifest
from stowage_testbed.toolchain.release import archive_of

NAME = "first-run"
MOST_SILENT_S = 5.0
_PASSED = re.compile(r"passed \S+ in [0-9.]+ s")


@dataclass(frozen=True, slots=True)
class Targets:
    """Seconds until all is done, and until the first scenario is."""

    total_s: float
    first_s: float


BUILT = Targets(480.0, 390.0)
RELEASED = Targets(90.0, 90.0)


@dataclass(frozen=True, slots=True)
class FirstRun:
    """What a run said and when, and what it took.

    Attributes
    ----------
    lines
        Seconds since the start, and what was said.
    busy_cores
        Cores that worked on average, of this machine, until the first scenario ended.
    cache_bytes
        What it has left in the cache.
    """

    lines: Sequence[tuple[float, str]]
    total_s: float
    busy_cores: float
    cache_bytes: int

    @property
    def first_s(self) -> float | None:
        """When the first scenario had passed."""
        return next((at for at, line in self.lines if _PASSED.search(line)), None)

    @property
    def silence(self) -> tuple[float, str]:
        """Return the longest silence, and the line before it."""
        moments = [(0.0, "the start"), *self.lines]
        last = self.total_s
        ends = [at for at, _ in moments[1:]] + [last]
        return max(
            (end - at, line) for (at, line), end in zip(moments, ends, strict=True)
        )


def run_benchmark(
    scenarios: Sequence[str], results: Path, say: Say, *, released: bool
) -> str:
    """Measure, write ``<results>/first-run.json``, and return the table.

    It takes a clone of the last commit, an empty cache and several GB of the disk of
    temporary files, all of which are gone afterwards. If ``released``, a mirror on the
    loopback interface has what is installed here in the place of official releases.

    Raises
    ------
    StowageError
        There is no checkout, or the run failed.
    """
    checkout = layout.checkout()
    if checkout is None:
        raise StowageError("a first run is measured in a checkout of the repository")
    targets = RELEASED if released else BUILT
    log = results / f"{NAME}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stowage-first-run-") as name:
        folder = Path(name)
        with (
            _source(folder / "mirror", released=released) as source,
            log.open("w") as to,
        ):
            run = _measure(checkout, folder, scenarios, source, partial(_tell, say, to))
    figures = list(_figures(run, targets))
    about = {"scenarios": list(scenarios), "released": released}
    return write_figures(results / f"{NAME}.json", figures, about)


def _measure(
    checkout: Path,
    folder: Path,
    scenarios: Sequence[str],
    source: Mapping[str, str],
    tell: Callable[[float, str], None],
) -> FirstRun:
    clone, cache = folder / "checkout", folder / "cache"
    git = ["git", "clone", "--quiet", "--shared"]
    subprocess.run([*git, str(checkout), str(clone)], check=True)
    command = ["make", "e2e", f"SCENARIOS={' '.join(scenarios)}"]
    began_s, before_s = time.monotonic(), _worked_s()
    lines: list[tuple[float, str]] = []
    busy_cores = 0.0
    with subprocess.Popen(
        command,
        cwd=clone,
        env={**_bare_environment(checkout), "STOWAGE_CACHE": str(cache), **source},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            at = time.monotonic() - began_s
            lines.append((at, line.rstrip()))
            tell(*lines[-1])
            if not busy_cores and _PASSED.search(line):
                busy_cores = (_worked_s() - before_s) / at
    total_s = time.monotonic() - began_s
    if process.returncode:
        last = "\n  ".join(line for _, line in lines[-10:])
        raise StowageError(f"make e2e ended with {process.returncode}:\n  {last}")
    size = sum(one.lstat().st_size for one in cache.rglob("*") if one.is_file())
    # Go's modules are read-only, and are to be removed.
    for path in (cache / "go-mod").rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    return FirstRun(lines, total_s, busy_cores, size)


def _figures(run: FirstRun, targets: Targets) -> Iterator[Figure]:
    at = at_most(targets.total_s, "s")
    yield figure("make e2e, all of it", "s", [run.total_s], max, at)
    if run.first_s is not None:
        at = at_most(targets.first_s, "s")
        yield figure("until the first scenario", "s", [run.first_s], max, at)
    silent_s, line = run.silence
    at = at_most(MOST_SILENT_S, "s")
    yield figure("longest silence", "s", [silent_s], max, at, note=f"after: {line}")
    cores = psutil.cpu_count() or 1
    yield figure(
        "busy cores until the first scenario", "", [run.busy_cores], max,
        note=f"of {cores}; all that ran on the machine",
    )  # fmt: skip
    yield figure("cache", "GB", [run.cache_bytes / 1e9], max)


def _bare_environment(checkout: Path) -> dict[str, str]:
    """Return an environment without this checkout's programs, caches and settings."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("STOWAGE_", "GO", "MAKE", "UV_", "PYTHON"))
        and key not in {"MFLAGS", "PIP_CACHE_DIR", "VIRTUAL_ENV", "CGO_ENABLED"}
    }
    own = str(layout.cache_folder()), sys.prefix, str(checkout)
    path = kept["PATH"].split(os.pathsep)
    kept["PATH"] = os.pathsep.join(one for one in path if not one.startswith(own))
    return kept


def _worked_s() -> float:
    """Return the seconds that the machine's cores have worked since it started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def _tell(say: Say, log: IO[str], at: float, line: str) -> None:
    text = f"{at:6.1f} {line}"
    say(text)
    log.write(f"{text}\n")
    log.flush()


@contextmanager
def _source(folder: Path, *, released: bool) -> Iterator[Mapping[str, str]]:
    """Serve releases in the block, and yield the environment that names the server."""
    if not released:
        yield {"STOWAGE_SOURCE": "go"}
        return
    minor = choose_minor()
    for name in TOOLS[Backend.KWOK_BINARY]:
        tool = load_manifest().tool(name, minor)
        if tool.archive is not None:
            publish(tool, tool_path(name, minor), folder)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    serving = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"STOWAGE_MIRROR": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


def publish(tool: Tool, binary: Path, folder: Path) -> None:
    """Put a binary below ``folder`` as its project publishes it, with its digest."""
    archive = archive_of(tool)
    file = folder / archive.url.split("://", 1)[1]
    file.parent.mkdir(parents=True, exist_ok=True)
    if archive.member is None:
        shutil.copyfile(binary, file)
    else:
        with tarfile.open(file, "w:gz", compresslevel=1) as packed:
            packed.add(binary, archive.member)
    digest = folder / (archive.digest or f"{archive.url}.sha256").split("://", 1)[1]
    digest.write_text(f"{sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
