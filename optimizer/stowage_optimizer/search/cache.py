"""Where compiled code is kept between processes, settled before Numba is imported.

Numba refuses to import a cached function when it finds no place to write to, even if
everything it needs is cached already. So a place is always named: the one that was
asked for, the packages' own folders, or this user's among the temporary files.

If nothing is compiled yet, another process compiles about half of it on a second core:
Numba's compiler holds the lock of the interpreter it runs in. Nothing here imports
Numba: that process is there before the caller has imported it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
"""Numba's own variable; what it names is shared by all compiled code."""

SHIPPED = "STOWAGE_COMPILED"
"""Variable that may name a folder with compiled code, which is only read."""

PREFIX = "compiled-"
"""Of the folder's name, which ends in a mark of the sources."""

OWNER_ONLY = 0o700


def settle_cache(environment: MutableMapping[str, str], code: Path, temporary: Path) -> Path:
    """Return the folder of compiled code, and set it for Numba.

    Parameters
    ----------
    environment
        The process's environment; `VARIABLE` and `SHIPPED` may be set in it.
    """
    mark = PREFIX + _mark(code)
    asked = environment.get(VARIABLE)
    if asked and Path(asked).name == mark and _writable(Path(asked)):
        return Path(asked)
    if asked and _writable(Path(asked)):
        place = Path(asked) / mark
    elif not asked and _writable(code / "__pycache__"):
        place = code / "__pycache__" / mark
    else:
        place = _fallback(temporary) / mark
    _fill(place, Path(environment.get(SHIPPED, "")) / mark, code)
    environment[VARIABLE] = str(place)
    return place


def _fill(place: Path, shipped: Path, code: Path) -> None:
    """Make the place, with what was compiled of these sources elsewhere, if anything.

    A container's image has it where nothing can be written, and another checkout or an
    installed wheel for sources in another folder, by whose path Numba names a folder.
    """
    if shipped.is_dir() and not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent) as draft:
            whole = Path(draft) / place.name
            shutil.copytree(shipped, whole)
            for folder in _sources(code):
                # Several checkouts may have left theirs, which are alike.
                compiled = sorted(whole.glob(f"{folder.name}_*"))
                for other in compiled[1:]:
                    shutil.rmtree(other)
                if compiled:
                    digest = hashlib.sha1(str(folder).encode(), usedforsecurity=False).hexdigest()
                    compiled[0].rename(whole / f"{folder.name}_{digest}")
            with suppress(OSError):  # another process was quicker
                whole.rename(place)
    place.mkdir(exist_ok=True)


def forget_others(place: Path) -> None:
    """Remove what was compiled from other sources next to ``place``."""
    for other in place.parent.glob(f"{PREFIX}*"):
        if other != place:
            shutil.rmtree(other, ignore_errors=True)


def _sources(code: Path) -> tuple[Path, Path]:
    """Return the folders of files with compiled functions."""
    return code, code.parent / "bounds"


def _mark(code: Path) -> str:
    """Return a mark of every file with compiled functions.

    Numba looks at the file of a function only, not at those of its parts.
    """
    digest = hashlib.blake2b(digest_size=8)
    for folder in _sources(code):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _fallback(temporary: Path) -> Path:
    # The user's number keeps others from planting code there.
    folder = temporary / f"stowage-compiled-{os.getuid()}"
    if _own(folder):
        return folder
    return Path(tempfile.mkdtemp(prefix="stowage-compiled-", dir=temporary))


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own(folder: Path) -> bool:
    """Return whether ``folder`` is there, writable, and this user's alone."""
    try:
        folder.mkdir(mode=OWNER_ONLY, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    private = status.st_mode & 0o022 == 0
    return private and status.st_uid == os.getuid() and _writable(folder)


BACKGROUND_PARTS = ("exploration", "moves")
"""Parts of the warm-up that the other process compiles."""

LAST = "exploration.explore-*.nbi"
"""What is in a cache that was filled once."""

DEVICES = "devices"
"""The part for pods that ask for devices, which few clusters need: it takes longer than all others.

`stowage-optimizer compile` compiles it, as the container's image does; or else the first solves for such pods."""

LAST_OF_DEVICES = "device_nodes.shut_without_order-*.nbi"
"""What is in a cache that has that part."""

SAY_EVERY_S = 3
LIMIT_S = 45
"""Time for the other process; then the caller compiles what is missing itself."""


class BackgroundCompiler:
    """A process that compiles `BACKGROUND_PARTS`, unless that was done before.

    If the caller ends first, it runs on for some seconds: the next start loads its
    work.
    """

    def __init__(self) -> None:
        self._place = place = settle_cache(os.environ, Path(__file__).parent, Path(tempfile.gettempdir()))
        self._process: subprocess.Popen[bytes] | None = None
        if not any(place.rglob(LAST)):
            _say(
                "the hot loops are not compiled yet; compiling now, once (a minute on two "
                "idle cores); the same beforehand: stowage-optimizer compile"
            )
            self._process = subprocess.Popen(
                [sys.executable, "-m", "stowage_optimizer.search.warmup", *BACKGROUND_PARTS],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def has_devices(self) -> bool:
        """Return whether the part for devices was compiled before."""
        return any(self._place.rglob(LAST_OF_DEVICES))

    def begin(self, part: str) -> None:
        """Say which part is next, if anything has to be compiled."""
        if self._process is not None:
            _say(f"compiling {part}")

    def wait(self) -> None:
        """Return when the process has ended; it is killed after some time."""
        if self._process is None:
            return
        for waited_s in range(0, LIMIT_S, SAY_EVERY_S):
            _say(f"compiling {' and '.join(BACKGROUND_PARTS)}: {waited_s} s")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(SAY_EVERY_S)
                break
        self._process.kill()
        self._process.wait()


def _say(line: str) -> None:
    print(f"stowage-optimizer: {line}", file=sys.stderr, flush=True)  # noqa: T201
