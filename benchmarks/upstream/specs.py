"""Upstream's end-to-end tests of scheduling: which there are, and how one ended."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.process import run_ending
from stowage_testbed.base.child import log_tail, quoted_log
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.host_pods import HOST_TAINT

SIG = r"\[sig-scheduling\]"
GATE = "FeatureGate:"
OFF_BY_DEFAULT = "Feature:OffByDefault"
LIMIT_S = 900.0
"""Of one test. Upstream's own waits are up to ten minutes."""

LISTING_S = 120.0
OUTPUT = "output.log"


@dataclass(frozen=True, slots=True)
class Spec:
    """One test."""

    name: str
    gates: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpecResult:
    """How a test ended.

    Attributes
    ----------
    spec
        Its name.
    profile
        The scheduler that it was run with.
    result
        Ginkgo's word: ``passed``, ``failed``, ``skipped``, ``timedout``.
    message
        What upstream says of it, where it did not pass.
    seconds
        How long it took.
    """

    spec: str
    profile: str
    result: str
    message: str
    seconds: float


class Suite:
    """Upstream's tests as a program."""

    def __init__(self, build: UpstreamBuild) -> None:
        self._binary = build.compile_test("./e2e", "e2e.test")

    def specs(self) -> list[Spec]:
        """Return every test that there is, by name: upstream draws an order."""
        with tempfile.TemporaryDirectory(prefix="sto-specs-") as folder:
            found = self._report(
                Path(folder),
                ["--ginkgo.dry-run", f"--ginkgo.focus={SIG}", "--kubeconfig="],
                LISTING_S,
            )
            if found is None:
                raise StowageError(
                    "upstream's tests could not be listed; the last lines:\n"
                    f"{quoted_log(log_tail(Path(folder) / OUTPUT))}"
                )
        specs = [read_spec(one) for one in found if one["State"] != "skipped"]
        return sorted(specs, key=lambda one: one.name)

    def run(self, spec: Spec, profile: str, cluster: Cluster, kept: Path) -> SpecResult:
        """Run one test on a cluster."""
        kept.mkdir(parents=True, exist_ok=True)
        found = self._report(
            kept,
            [
                f"--ginkgo.focus={re.escape(spec.name)}$",
                f"--kubeconfig={cluster.kubeconfig}",
                "--provider=skeleton",
                f"--non-blocking-taints={HOST_TAINT}",
                # One node is no worker: it holds Stowage's own pods.
                "--allowed-not-ready-nodes=1",
                "--dump-logs-on-failure=false",
                f"--e2e-output-dir={kept}",
            ],
            LIMIT_S,
        )
        if found is None:
            message = f"no report came within {LIMIT_S:.0f} s: see {OUTPUT}"
            return SpecResult(spec.name, profile, "failed", message, LIMIT_S)
        ran = [one for one in found if one.get("NumAttempts")]
        if not ran:
            raise StowageError(
                f"upstream's program did not run the test {spec.name!r}; its last "
                f"lines:\n{quoted_log(log_tail(kept / OUTPUT))}"
            )
        (one,) = ran
        return SpecResult(
            spec.name,
            profile,
            one["State"],
            (one.get("Failure") or {}).get("Message", ""),
            one["RunTime"] / 1e9,
        )

    def _report(
        self, folder: Path, arguments: list[str], limit_s: float
    ) -> list[dict[str, Any]] | None:
        """Run the program and return what it reports; None if it reports nothing."""
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        output = folder / OUTPUT
        run_ending(
            [str(self._binary), *arguments, "--ginkgo.no-color", "--ginkgo.v",
             f"--ginkgo.json-report={report}"],
            folder,
            {},
            output,
            limit_s,
        )  # fmt: skip
        if not report.is_file():
            return None
        (suite,) = json.loads(report.read_text(encoding="utf-8"))
        return [
            one for one in suite["SpecReports"] or () if one["LeafNodeType"] == "It"
        ]


def read_spec(report: Mapping[str, Any]) -> Spec:
    """Return a test from Ginkgo's report of it."""
    texts = [*(report["ContainerHierarchyTexts"] or ()), report["LeafNodeText"]]
    return Spec(" ".join(texts), _gates(report))


def _gates(report: Mapping[str, Any]) -> frozenset[str]:
    labels = [*(report["ContainerHierarchyLabels"] or ()), report["LeafNodeLabels"]]
    all_of_them = {one for some in labels for one in some or ()}
    if OFF_BY_DEFAULT not in all_of_them:
        return frozenset()
    return frozenset(
        one.removeprefix(GATE) for one in all_of_them if one.startswith(GATE)
    )
