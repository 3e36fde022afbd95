"""kwokctl as a child process, kept away from the user's own files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stowage_testbed.cluster.components import log_file
from stowage_testbed.cluster.processes import marked_environment
from stowage_testbed.toolchain import tool_path

KWOKCTL = "kwokctl"


def write_kubectl(workdir: Path) -> None:
    """Write the kubectl that kwokctl asks whether the API server answers: it says yes.

    We look ourselves, and a real one would have to be built first.
    """
    file = workdir / "bin" / "kubectl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    file.chmod(0o755)


@contextmanager
def running_kwokctl(workdir: Path, config: Path, arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run kwokctl for the cluster in ``workdir``; what is left after the block ends.

    Its output goes to its log.
    """
    command = [str(tool_path(KWOKCTL)), "--config", str(config), "--name", workdir.name]
    with log_file(workdir, KWOKCTL).open("ab") as log:
        process = subprocess.Popen(
            [*command, *arguments],
            env=_environment(workdir),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # An interrupt from the keyboard is ours to handle, not its.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _environment(workdir: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's is read or written.

    kwokctl would add to ``~/.kube/config``, and the kubectl that it calls would cache below ``~/.kube``: their home is
    the cluster's folder. Variables that would override the configuration file are left out.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KWOK_", "KUBE"))}
    kept |= {"HOME": str(workdir), "KWOK_WORKDIR": str(workdir.parents[1])}
    return marked_environment(workdir, kept)
