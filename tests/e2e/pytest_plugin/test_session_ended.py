"""A session of pytest whose cluster loses a process: it ends, and says which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = 2

TESTS = """\
import os, signal, threading
from pathlib import Path
from stowage_testbed.cluster.components import ETCD, pid_file

def test_waits(stowage_cluster):
    workdir = stowage_cluster.workdir
    Path("workdir").write_text(str(workdir))
    etcd = int(pid_file(workdir, ETCD).read_text())
    threading.Timer(0.5, lambda: os.kill(etcd, signal.SIGKILL)).start()
    threading.Event().wait(200)

def test_comes_after(stowage_cluster):
    Path("came-after").touch()
"""

pytestmark = pytest.mark.e2e


def test_the_session_ends_by_the_name_of_the_process(tmp_path: Path) -> None:
    """Every test after it would fail for want of a cluster, each after a time-out."""
    (tmp_path / "test_session.py").write_text(TESTS)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == INTERRUPTED, done.stdout + done.stderr
    assert "EndingInterrupt: etcd has ended, and the run with it" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "came-after").exists()
    assert not Path((tmp_path / "workdir").read_text()).exists()
