"""`ci/telling`: nothing is silent for long."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from stowage_testbed.base.wait import HANG_S

CI = Path(__file__).parents[3] / "ci"


def telling(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CI / "telling", "building it", *command],
        cwd=folder,
        env={**os.environ, "TELL_EVERY_S": "0.01"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_says_nothing_is_told_of(tmp_path: Path) -> None:
    """On stderr, until the command ends by itself; its own words go where they went."""
    script = 'while ! grep -q "building it: 0 s" said; do :; done; echo done'

    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            [CI / "telling", "building it", "sh", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "TELL_EVERY_S": "0.01"},
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            check=False,
            timeout=HANG_S,
        )

    assert (done.returncode, done.stdout) == (0, "done\n")


def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    """Else a build that failed would pass."""
    done = telling(tmp_path, "sh", "-c", "echo no >&2; exit 7")

    assert done.returncode == 7
    assert "no\n" in done.stderr
