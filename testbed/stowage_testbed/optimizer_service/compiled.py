"""The optimiser's hot loops, compiled before anybody waits for an answer.

An environment that is new has nothing compiled, and a service that compiles in its
first solve misses every deadline.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import deque
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError

COMMAND = "stowage-optimizer"
_TAIL_LINES = 15


def compile_optimizer() -> None:
    """Compile the hot loops, unless that was done for these files already; a `StowageError` carries what was said.

    It takes ten seconds on two cores, says so on stderr, and is remembered in the cache folder.
    """
    done = layout.cache_folder() / "compiled" / _mark()
    if done.exists():
        return
    done.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(done.with_suffix(".lock")):
        if done.exists():
            return
        command = Path(sys.executable).with_name(COMMAND)
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with subprocess.Popen(
            [str(command), "compile"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            for line in process.stdout or ():
                tail.append(line.rstrip())
                print(tail[-1], file=sys.stderr, flush=True)  # noqa: T201
        if process.returncode:
            said = "\n  ".join(tail)
            raise StowageError(
                f"compiling the optimiser's hot loops failed:\n  {said}\n`{COMMAND} compile` tries again"
            )
        done.touch()


def _mark() -> str:
    """Return a mark of this Python and of the optimiser's files, as they are now."""
    spec = find_spec("stowage_optimizer")
    folders = spec.submodule_search_locations if spec else None
    digest = hashlib.sha256(sys.prefix.encode())
    for folder in folders or ():
        for file in sorted(Path(folder).rglob("*.py")):
            state = file.stat()
            digest.update(f"{file} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:12]
