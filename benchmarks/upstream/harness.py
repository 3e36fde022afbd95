"""Upstream's harness and tests: built from its module with Stowage's plugins, run in its folder of the module."""

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

from benchmarks.upstream.profiles import CHOSEN, Profile
from stowage_testbed.base import layout
from stowage_testbed.base.child import log_end
from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain import choose_minor, tool_path
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.manifest import load_manifest

MODULE = Path(__file__).parent
KUBERNETES = "k8s.io/kubernetes"
UTIL = Path("test/integration/util")
OVERLAY = MODULE / "overlay" / "newscheduler.go"

_CALL = re.compile(r"\bscheduler\.New\(")
CALLS = 2
"""Places in ``test/integration/util`` at which upstream makes a scheduler."""


class UpstreamBuild:
    """Go commands on the module ``k8s.io/kubernetes``, whose schedulers are ours.

    Nothing of the module is changed or copied, except for one call: where its tests make a scheduler, they call a
    function of ours, which makes the same one with Stowage's plugins if it is asked to. Go lets no file of its module
    cache be replaced, so the module is reached through a link.
    """

    def __init__(self, folder: Path) -> None:
        self._go = str(find_go(load_manifest().go).file)
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        found = Path(self._run("list", "-m", "-f", "{{.Dir}}", KUBERNETES).strip())
        # Below the folder as in Go's own names, which is where test servers look.
        self.kubernetes = self.folder / found.parent.name / found.name
        self.kubernetes.parent.mkdir(exist_ok=True)
        self.kubernetes.unlink(missing_ok=True)
        self.kubernetes.symlink_to(found)
        self._module_file = self.folder / "go.mod"
        self._overlay = self.folder / "overlay.json"
        self._write_module()
        self._write_overlay()

    def compile_test(self, package: str, name: str) -> Path:
        """Build the tests of a package into a file of this name."""
        file = self.folder / name
        self._run(
            "test", "-c", "-vet=off",
            f"-modfile={self._module_file}", f"-overlay={self._overlay}",
            "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "-o", str(file), package,
        )  # fmt: skip
        return file

    def environment(self) -> Mapping[str, str]:
        """Return what tells a test server where its package is: -trimpath hides it."""
        folder = self.folder
        return {"TEST_SRCDIR": str(folder.parent), "TEST_WORKSPACE": folder.name}

    def _write_module(self) -> None:
        content = (MODULE / "go.mod").read_text(encoding="utf-8")
        scheduler = layout.shipped("scheduler").resolve()
        content = content.replace("../../scheduler", str(scheduler))
        content += f"\nreplace {KUBERNETES} => {self.kubernetes}\n"
        self._module_file.write_text(content, encoding="utf-8")
        sums = (MODULE / "go.sum").read_bytes()
        self._module_file.with_suffix(".sum").write_bytes(sums)

    def _write_overlay(self) -> None:
        """Write upstream's file anew, with its calls of ``scheduler.New`` ours."""
        upstream = self.kubernetes / UTIL / "util.go"
        content, calls = _CALL.subn("newScheduler(", upstream.read_text(encoding="utf-8"))
        if calls != CALLS:
            raise StowageError(
                f"{UTIL}/util.go of {KUBERNETES} makes a scheduler in {calls} places "
                f"and not in {CALLS}: read it, and correct {MODULE / 'harness.py'}"
            )
        changed = self.folder / "util.go"
        changed.write_text(content, encoding="utf-8")
        replaced = {str(upstream): str(changed), str(upstream.with_name(OVERLAY.name)): str(OVERLAY)}
        self._overlay.write_text(json.dumps({"Replace": replaced}), encoding="utf-8")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._go, *arguments], cwd=MODULE, env=go_environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise StowageError(
                f"go {' '.join(arguments)} failed in {MODULE}:\n{done.stderr}\n"
                "a failed download is often passing: run the same command again; "
                "behind a proxy set GOPROXY"
            )
        return done.stdout


def run_ending(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, limit_s: float
) -> None:
    """Run a command to its end, or to the limit of its time."""
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
        with suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


MEMORY = Path("/dev/shm")  # noqa: S108 - folders of unforeseeable names are made in it
ROOM_BYTES = 2 * 2**30
"""What an etcd may write, by its own limit."""


def fast_folder() -> Path | None:
    """Return a folder in memory for what an etcd writes; None where there is no room.

    The wait for a disk that others use as well is what most differs between two runs.
    """
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM_BYTES else None


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
        paces = [one for one in self.items if one["labels"]["Metric"] == PACE]
        found = [one["data"]["Average"] for one in paces if one["labels"]["Name"].startswith(of_case)]
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
        etcd = tool_path("etcd", choose_minor())
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
                    # By which a test server finds the toolchain's.
                    "PATH": f"{etcd.parent}{os.pathsep}{os.environ['PATH']}",
                    "KUBE_CACHE_MUTATION_DETECTOR": "false",
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
            end = log_end(output)
        files = sorted(kept.glob(f"{BENCHMARK}_benchmark_*.json"))
        # Those of perf-dash, of the run that has just ended.
        items = json.loads(files[-1].read_text(encoding="utf-8"))["dataItems"] if files else None
        return Outcome(frozenset(_PASSED.findall(said)), tuple(items or ()), end)
