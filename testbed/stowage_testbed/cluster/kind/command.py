"""kind as a child process, kept away from the user's own files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from stowage_testbed.child import log_tail
from stowage_testbed.cluster.components import log_file
from stowage_testbed.cluster.errors import ComponentFailedError
from stowage_testbed.cluster.processes import marked_environment
from stowage_testbed.toolchain import tool_path

KIND = "kind"


def run_kind(workdir: Path, network: str, arguments: Sequence[str]) -> None:
    """Run kind for the cluster in ``workdir`` to its end; its output goes to its log.

    Parameters
    ----------
    network
        That its nodes join; it exists.

    Raises
    ------
    ToolMissingError
        kind is not installed.
    ComponentFailedError
        It failed; carries its last lines.
    """
    kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    kept |= {"HOME": str(workdir), "KIND_EXPERIMENTAL_DOCKER_NETWORK": network}
    log = log_file(workdir, KIND)
    with log.open("ab") as output:
        done = subprocess.run(
            [str(tool_path(KIND)), *arguments],
            env=marked_environment(workdir, kept),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # An interrupt from the keyboard is ours to handle, not its.
            start_new_session=True,
            check=False,
        )
    if done.returncode:
        raise ComponentFailedError(workdir.name, KIND, log, log_tail(log))
