"""Upstream's harness: built from its module, run in its folder of the module."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.cases import CHOSEN
from benchmarks.upstream.process import fast_folder, run_ending, with_etcd
from benchmarks.upstream.profiles import Profile
from stowage_testbed.base import layout
from stowage_testbed.base.child import log_tail, quoted_log

CRDS = layout.shipped("charts").resolve() / "stowage" / "crds"
HARNESS = "test/integration/scheduler_perf"
BENCHMARK = "BenchmarkPerfScheduling"
PACE = "SchedulingThroughput"

_PASSED = re.compile(rf"^{BENCHMARK}/(\S+)/{CHOSEN}(?:-\d+)?\s", re.M)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one process of the harness gave.

    Attributes
    ----------
    passed
        Cases that ended well.
    items
        perf-dash's data items.
    end
        The last lines of its output.
    """

    passed: frozenset[str]
    items: tuple[dict[str, Any], ...]
    end: str

    def pods_s(self, case: str) -> float | None:
        """Return the mean pace of a case, pods a second; None if it has none."""
        of_case = f"{BENCHMARK}/{case}/"
        found = [
            one["data"]["Average"]
            for one in self.items
            if one["labels"]["Metric"] == PACE
            and one["labels"]["Name"].startswith(of_case)
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
        self,
        topic: str,
        cases: Iterable[Mapping[str, Any]],
        profile: Profile,
        kept: Path,
        limit_s: float,
    ) -> Outcome:
        """Run cases of one topic in a process of their own."""
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix="sto-perf-", dir=fast_folder()
        ) as scratch:
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
