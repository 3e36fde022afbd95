"""Sources of others that the Go module proxy has, which Go's checksums protect."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

from stowage_testbed import layout
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.manifest import load_manifest


@cache
def go_module(name: str) -> Path:
    """Return the folder of a Go module, downloaded if need be.

    Without a version, as in ``k8s.io/kubernetes@v1.36.3``, it is the scheduler's.
    """
    go = str(find_go(load_manifest().go).file)
    done = subprocess.run(
        [go, "mod", "download", "-json", name],
        cwd=layout.shipped("scheduler"),
        env=go_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(json.loads(done.stdout)["Dir"])
