"""The folders of pods that are gone: their logs stay for a while."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from stowage_testbed.hostpods.volumes.atomic import remove_tree

KEPT_FOLDERS = 20


def forget_old_folders(pods: Path, *, keep: Collection[str]) -> None:
    """Remove all but the newest folders of pods that do not exist any more.

    Parameters
    ----------
    pods
        The folder of the pods' folders.
    keep
        Names of folders whose pods exist.
    """
    old = [folder for folder in pods.iterdir() if folder.name not in keep]
    old.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in old[KEPT_FOLDERS:]:
        remove_tree(folder)
