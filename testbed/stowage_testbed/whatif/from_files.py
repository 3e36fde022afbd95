"""A cluster from what kubectl printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.whatif.errors import NotAListError, NotValuesError
from stowage_testbed.whatif.inventory import Inventory, Manifest, inventory_of
from stowage_testbed.whatif.kinds import FURTHER

PLUGIN = "priorityOptimizer"
"""The value of the chart that holds the plugin's arguments."""


def read_files(paths: Sequence[Path]) -> Inventory:
    """Return what is in the files; what kinds are missing is said in it.

    Raises
    ------
    NotAListError
        A file is not JSON, or holds something else than objects.
    NothingToAskError
        There are no nodes or no pods.
    """
    objects = [one for path in paths for one in _objects(path)]
    there = {one["kind"] for one in objects}
    unread = [kind.without for kind in FURTHER if kind.name not in there]
    return inventory_of(objects, unread)


def rules_of(path: Path) -> Mapping[str, object]:
    """Return the plugin's arguments in values of the chart; none, if they have none.

    Raises
    ------
    NotValuesError
        The file is not YAML, or holds something else than values.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise NotValuesError(path, f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise NotValuesError(path, f"is not YAML ({error})") from error
    arguments = values.get(PLUGIN, {}) if isinstance(values, dict) else None
    if not isinstance(arguments, dict):
        raise NotValuesError(path, f"has no mapping {PLUGIN}")
    return arguments


def _objects(path: Path) -> Iterator[Manifest]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NotAListError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise NotAListError(path, f"is not JSON ({error})") from error
    yield from _flat(path, document)


def _flat(path: Path, document: Any) -> Iterator[Manifest]:
    """Yield the objects of lists within lists."""
    if not isinstance(document, dict) or "kind" not in document:
        raise NotAListError(path, "holds no Kubernetes objects")
    if isinstance(document.get("items"), list):
        # The items of a typed list do not say what they are.
        kind = str(document["kind"]).removesuffix("List")
        for item in document["items"]:
            if not isinstance(item, dict):
                raise NotAListError(path, "has an item that is no object")
            named = {"kind": kind} if kind else {}
            version = document.get("apiVersion", "v1")
            yield from _flat(path, {"apiVersion": version, **named, **item})
    elif not isinstance(document.get("metadata"), dict):
        raise NotAListError(path, f"has a {document['kind']} without metadata")
    else:
        yield document
