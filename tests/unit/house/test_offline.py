"""No test fetches, builds or installs what set-up should have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ABSENT = "example.com/absent@v1.0.0"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("go", "mod", "download", ABSENT), "GOPROXY=off"),
        ((sys.executable, "-m", "pip", "download", "absent"), "No matching distrib"),
        ((sys.executable, "-m", "uv", "pip", "install", "absent"), "network was disa"),
    ],
    ids=["go", "pip", "uv"],
)
def test_what_a_test_tries_to_fetch_fails_at_once(command: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """On a good day it would pass, and on a busy machine it would time out."""
    (tmp_path / "go.mod").write_text("module m\n")
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "VIRTUAL_ENV": sys.prefix, "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert said in done.stderr
