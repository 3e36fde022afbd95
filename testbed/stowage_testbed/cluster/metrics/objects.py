"""The objects that make up a cluster's metrics API, from the files beside this one.

Among them the kinds that KWOK reads simulated usage from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.metrics.usage import usage_object
from stowage_testbed.wait import wait_until

_FOLDER = Path(__file__).parent

Manifest = dict[str, Any]


def read_manifests(name: str) -> list[Manifest]:
    """Return the documents of ``<name>.yaml``."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def serve_usage_api(objects: Objects, timeout_s: float) -> None:
    """Create the kinds, wait until they are served, and describe a fake kubelet.

    Pods use no CPU, unless their annotations say so, until it is set.

    To be done before KWOK asks for them: it repeats a failed list only after seconds.
    """
    definitions = read_manifests("usage-crds")
    for definition in definitions:
        objects.create(definition)
    names = {definition["metadata"]["name"] for definition in definitions}
    wait_until(
        "the kinds of usage to be served",
        lambda: {name for name in names if not _is_established(objects, name)},
        lambda missing: not missing,
        timeout_s=timeout_s,
    )
    for manifest in (*read_manifests("kubelet-metrics"), usage_object({})):
        objects.create(manifest)


def conditions(objects: Objects, kind: str, name: str) -> dict[str, Manifest]:
    """Return an object's conditions by type."""
    status = objects.read(kind, name).get("status") or {}
    return {one["type"]: one for one in status.get("conditions") or ()}


def _is_established(objects: Objects, name: str) -> bool:
    seen = conditions(objects, "CustomResourceDefinition", name)
    return seen.get("Established", {}).get("status") == "True"
