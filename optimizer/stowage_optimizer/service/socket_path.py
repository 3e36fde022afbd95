"""The Unix socket's path: short enough, free, and readable by its owner only."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stowage_optimizer.service.errors import (
    NotASocketError,
    SocketFolderMissingError,
    SocketInUseError,
    SocketPathTooLongError,
)

LONGEST_PATH_BYTES = 107
"""``sun_path`` has 108 bytes, one of them for the closing zero."""


def claim(path: Path) -> None:
    """Make sure that ``path`` can be bound; a socket that no process serves is removed.

    Raises
    ------
    SocketPathTooLongError, SocketFolderMissingError, NotASocketError, SocketInUseError
        It cannot.
    """
    length = len(os.fsencode(path))
    if length > LONGEST_PATH_BYTES:
        raise SocketPathTooLongError(path, length, LONGEST_PATH_BYTES)
    if not path.parent.is_dir():
        raise SocketFolderMissingError(path.parent)
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_socket():
        raise NotASocketError(path)
    if _answers(path):
        raise SocketInUseError(path)
    path.unlink()


def release(path: Path) -> None:
    """Remove the socket, if it is still there."""
    with suppress(FileNotFoundError):
        path.unlink()


@contextmanager
def private_umask() -> Iterator[None]:
    """Create files that only their owner may read and write."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True
