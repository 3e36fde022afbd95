"""The files that a volume shows, before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stowage_testbed.hostpods.errors import VolumeNotReadyError
from stowage_testbed.hostpods.manifest import Manifest

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file: its bytes and its permission bits."""

    data: bytes
    mode: int = DEFAULT_MODE


Payload = dict[str, FileContent]
"""File contents by path inside the volume."""


def keyed_payload(
    what: str, data: Mapping[str, bytes], source: Manifest, default_mode: int
) -> Payload:
    """Return all keys as files, or those that ``items`` names under its paths.

    Raises
    ------
    VolumeNotReadyError
        ``items`` names a key that is missing, and the source is not optional.
    """
    items: Iterable[Manifest] | None = source.get("items")
    if items is None:
        return {key: FileContent(value, default_mode) for key, value in data.items()}
    payload: Payload = {}
    for item in items:
        if item["key"] in data:
            mode = item.get("mode", default_mode)
            payload[item["path"]] = FileContent(data[item["key"]], mode)
        elif not source.get("optional"):
            raise VolumeNotReadyError(
                f"{what} has no key {item['key']!r}; add it, or mark the volume "
                "optional"
            )
    return payload
