"""A folder's files on their way from a worker to who asked: packed, and bounded."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Collection
from pathlib import Path

from stowage_testbed.report.evidence import FAILED

MOST_BYTES = 256 << 20
"""Of a parcel's files together, before they are packed: a worker's memory, the
scheduler's and the client's hold a parcel whole."""

LEFT_OUT = "left-out.txt"


def packed(
    folder: Path,
    note: Path,
    *,
    without: Collection[str] = (),
    most_bytes: int = MOST_BYTES,
) -> bytes:
    """Return the files of a folder as one archive.

    Evidence of failures goes first, small files before large ones. What there is no
    room for is named, with its size, in the file `LEFT_OUT`.

    Parameters
    ----------
    note
        Folder inside ``folder`` that takes the list of what was left out.
    without
        Files of the folder itself that stay.
    """
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    files = [file for file in files if str(file) not in without]
    sizes = {file: (folder / file).stat().st_size for file in files}
    files.sort(key=lambda file: (file.parts[0] != FAILED, sizes[file], file))
    left_out: list[str] = []
    used = 0
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=3) as tar:
        for file in files:
            if used + sizes[file] > most_bytes:
                left_out.append(f"{file}: {sizes[file]:,} bytes")
                continue
            used += sizes[file]
            tar.add(folder / file, arcname=str(file))
        if left_out:
            head = f"left at the worker, over {most_bytes:,} bytes in all:"
            _add_text(tar, note / LEFT_OUT, "\n".join([head, *left_out, ""]))
    return archive.getvalue()


def unpack(parcel: bytes, folder: Path) -> list[Path]:
    """Write a parcel's files to a folder, and return their paths in it."""
    with tarfile.open(fileobj=io.BytesIO(parcel), mode="r:gz") as tar:
        tar.extractall(folder, filter="data")
        return [Path(name) for name in tar.getnames()]


def _add_text(tar: tarfile.TarFile, name: Path, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(str(name))
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
