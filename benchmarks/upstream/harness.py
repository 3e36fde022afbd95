"""Upstream's harness: built from its module, run in its folder of the module."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.profiles import CHOSEN, Profile
from stowage_testbed.base import layout
from stowage_testbed.base.child import log_tail, quoted_log
from stowage_testbed.toolchain import choose_minor, tool_path


def run_ending(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, limit_s: float
) -> int | None:
    """Run a command to its end; return its exit code."""
    with (
        output.open("wb") as said,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


MEMORY = Path("/dev/shm")  # noqa: S108 - folders of unforeseeable names are made in it
ROOM_BYTES = 2 * 2**30
"""What an etcd may write, by its own limit."""


def fast_folder() -> Path | None:
    """Return a folder in memory for what an etcd writes; None where there is no room.

    The wait for a disk that others use as well is what most differs between two runs.
    """
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES:
        return MEMORY
    return None


def with_etcd() -> Mapping[str, str]:
    """Return what has a test server find the toolchain's etcd."""
    etcd = tool_path("etcd", choose_minor())
    return {"PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}", "KUBE_CACHE_MUTATION_DETECTOR": "false"}


CRDS = layout.shipped("charts").resolve() / "stowage" / "crds"
HARNESS = "test/integration/scheduler_perf"
BENCHMARK = "BenchmarkPerfScheduling"
PACE = "SchedulingThroughput"

_PASSED = re.compile(rf"^{BENCHMARK}/(\S+)/{CHOSEN}(?:-\d+)?\s", re.M)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process of the harness gave: who passed, perf-dash's items, its end."""

    passed: frozenset[str]
    items: tuple[dict[str, Any], ...]
    end: str

    def pods_s(self, case: str) -> float | None:
        """Return the mean pace of a case, pods a second; None if it has none."""
        of_case = f"{BENCHMARK}/{case}/"
        found = [
            one["data"]["Average"]
            for one in self.items
            if one["labels"]["Metric"] == PACE and one["labels"]["Name"].startswith(of_case)
        ]
        return found[-1] if found else None


class Harness:
    """Upstream's harness, with Stowage's plugins compiled in."""

    def __init__(self, build: UpstreamBuild) -> None:
        self._build = build
        self._binary = build.compile_test(".", "scheduler_perf.test")
        self.folder = build.kubernetes / HARNESS

    @property
    def digest(self) -> str:
        """Return a short hash of the binary: builds of the same source are the same."""
        return hashlib.sha256(self._binary.read_bytes()).hexdigest()[:12]

    def run(
        self, topic: str, cases: Iterable[Mapping[str, Any]], profile: Profile, kept: Path, limit_s: float
    ) -> Outcome:
        """Run cases of one topic in a process of their own."""
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="sto-perf-", dir=fast_folder()) as scratch:
            file = Path(scratch) / "cases.yaml"
            file.write_text(yaml.safe_dump(list(cases)), encoding="utf-8")
            output = Path(scratch) / "output"
            run_ending(
                [
                    str(self._binary), "-test.run=^$", f"-test.bench={BENCHMARK}",
                    "-test.benchtime=1x", f"-perf-scheduling-label-filter={CHOSEN}",
                    f"-data-items-dir={kept.resolve()}",
                    "-with-data-items-unique-id=false",
                ],
                self.folder / topic,
                {
                    **with_etcd(),
                    **self._build.environment(),
                    "TMPDIR": scratch,
                    "PERF_CASES": str(file),
                    "PERF_TOPIC": topic.replace("/", "_"),
                    "STOWAGE_PLUGINS": profile.plugins,
                    "STOWAGE_CRDS": str(CRDS) if profile.plans else "",
                },
                output,
                limit_s,
            )  # fmt: skip
            said = output.read_text(encoding="utf-8", errors="replace")
            (kept / "output.log").write_text(said, encoding="utf-8")
            end = quoted_log(log_tail(output))
        return Outcome(frozenset(_PASSED.findall(said)), tuple(_items(kept)), end)


def _items(kept: Path) -> list[dict[str, Any]]:
    """Return perf-dash's data items of a run that has just ended."""
    files = sorted(kept.glob(f"{BENCHMARK}_benchmark_*.json"))
    if not files:
        return []
    content = json.loads(files[-1].read_text(encoding="utf-8"))
    return list(content["dataItems"] or ())
