"""Upstream's benchmarks and tests, built from its module with Stowage's plugins."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
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

    Nothing of the module is changed or copied, except for one call: where its tests
    make a scheduler, they call a function of ours, which makes the same one with
    Stowage's plugins if it is asked to. Go lets no file of its module cache be
    replaced, so the module is reached through a link.
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
            "-trimpath", "-ldflags=-s -w", "-o", str(file), package,
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
                f"and not in {CALLS}: read it, and correct {MODULE / 'building.py'}"
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
