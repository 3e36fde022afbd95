"""The socket's path is claimed safely or refused with the way out."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.service.server import LONGEST_PATH_BYTES, claim


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a relative folder, so that its name is short enough for any socket."""
    monkeypatch.chdir(tmp_path)
    return Path()


def test_a_free_path_is_fine(folder: Path) -> None:
    """The usual case."""
    claim(folder / "o.sock")


def test_the_longest_path_that_the_kernel_takes_is_taken(folder: Path) -> None:
    """One byte more and it is refused by name, not by the kernel's errno."""
    claim(folder / ("x" * LONGEST_PATH_BYTES))

    with pytest.raises(OptimizerError, match="108 bytes"):
        claim(folder / ("x" * (LONGEST_PATH_BYTES + 1)))


def test_bytes_count_not_letters(folder: Path) -> None:
    """A letter may take more than one byte."""
    with pytest.raises(OptimizerError, match="choose a shorter folder"):
        claim(folder / ("ä" * 60))


def test_a_stale_socket_is_removed(folder: Path) -> None:
    """What a killed service leaves behind."""
    path = folder / "o.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))

    claim(path)

    assert not path.exists()


def test_a_live_socket_is_left_alone(folder: Path) -> None:
    """Two services on one path would steal each other's calls."""
    path = folder / "o.sock"
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(path))
        live.listen()

        with pytest.raises(OptimizerError, match="another process serves on"):
            claim(path)

    assert path.exists()


def test_a_file_of_another_kind_is_never_removed(folder: Path) -> None:
    """A typing mistake in --socket must not cost a file."""
    path = folder / "precious.txt"
    path.write_text("data", encoding="utf-8")

    with pytest.raises(OptimizerError, match="is not a socket"):
        claim(path)

    assert path.read_text(encoding="utf-8") == "data"


def test_a_missing_folder_is_named(folder: Path) -> None:
    """The volume was not mounted, most likely."""
    with pytest.raises(OptimizerError, match="nowhere of the socket does not exist"):
        claim(folder / "nowhere" / "o.sock")
