"""The objects that make up a cluster's metrics API, from the files beside this one.

Among them the kinds that KWOK reads simulated usage from.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.metrics.usage import usage_object

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
    for definition in definitions:
        objects.await_definition(definition["metadata"]["name"], timeout_s)
    for manifest in (*read_manifests("kubelet-metrics"), usage_object({})):
        objects.create(manifest)
