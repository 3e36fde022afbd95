"""The optimiser's hot loops, compiled first: a service that compiles in its first solve misses every deadline."""

import hashlib
import sys
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, Popen

from filelock import FileLock

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError

COMMAND = "stowage-optimizer"
_TAIL_LINES = 15


def compile_optimizer() -> None:
    """Compile the hot loops in ten seconds, unless that was done for these files; a `StowageError` says why not."""
    done = layout.cache_folder() / "compiled" / _mark()
    if done.exists():
        return
    done.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(done.with_suffix(".lock")):
        if done.exists():
            return
        command = Path(sys.executable).with_name(COMMAND)
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        with Popen([str(command), "compile"], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, text=True) as process:
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
