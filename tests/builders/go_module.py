"""Sources of others that the Go module proxy has, which Go's checksums protect."""

import json
import subprocess
from functools import cache
from pathlib import Path

from stowage_testbed.base import layout
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.manifest import load_manifest

LIST = Path(__file__).parents[1] / "go-modules.txt"


class ModuleMissingError(Exception):
    """A Go module is not on this machine; says how it comes, and what Go said."""


@cache
def go_module(name: str) -> Path:
    """Return the folder of a Go module of the list, which set-up has fetched.

    Raises
    ------
    ModuleMissingError
        It was not fetched.
    """
    go = str(find_go(load_manifest().go).file)
    done = subprocess.run(
        [go, "mod", "download", "-json", _listed(name)],
        cwd=layout.shipped("scheduler"),
        env=go_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ModuleMissingError(
            f"tests fetch no Go module, and {name} is not here; run: make go-modules\n{done.stdout}{done.stderr}"
        )
    return Path(json.loads(done.stdout)["Dir"])


def _listed(name: str) -> str:
    """Return a module with its version."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    if name in lines:
        return name
    (only,) = (line for line in lines if line.partition("@")[0] == name)
    return only
