"""`ci/again`: what fetches is tried again, and says why it could not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

AGAIN = Path(__file__).parents[3] / "ci" / "again"
COUNTED = 'echo x >>tries; echo "try $(wc -l <tries) said no" >&2; '


def again(
    folder: Path, *command: str, seconds: int = 600
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGAIN, str(seconds), *command],
        cwd=folder,
        env={**os.environ, "AGAIN_AFTER_S": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def tries(folder: Path) -> int:
    return (folder / "tries").read_text().count("x")


def test_a_failure_that_passes_is_passed_over(tmp_path: Path) -> None:
    """One fetch of hundreds that times out must not end a set-up."""
    script = f'{COUNTED} echo "$1"; [ "$(wc -l <tries)" -eq 3 ]'

    done = again(tmp_path, "sh", "-c", script, "sh", "two words")

    assert done.returncode == 0
    assert tries(tmp_path) == 3
    assert done.stdout == "two words\n" * 3


def test_what_goes_on_failing_is_told_in_its_own_words(tmp_path: Path) -> None:
    """A reason that is swallowed costs whoever looks for it an hour."""
    done = again(tmp_path, "sh", "-c", f"{COUNTED} exit 3")

    assert done.returncode == 3
    assert tries(tmp_path) == 4
    for number in range(1, 5):
        assert f"try {number} said no" in done.stderr
        assert f"try {number} of 4 failed (exit code 3): sh -c" in done.stderr
    assert "gave up: sh -c" in done.stderr


def test_what_hangs_is_ended_at_the_deadline(tmp_path: Path) -> None:
    """All tries share it: four times as long is no deadline."""
    done = again(tmp_path, "sh", "-c", f"{COUNTED} exec sleep 600", seconds=1)

    assert done.returncode == 124
    assert tries(tmp_path) == 1
    assert "not done in time" in done.stderr


def test_what_cannot_be_run_is_not_tried_again(tmp_path: Path) -> None:
    """It does not pass by itself."""
    done = again(tmp_path, "absent-program")

    assert done.returncode == 127
    assert "try 2" not in done.stderr
