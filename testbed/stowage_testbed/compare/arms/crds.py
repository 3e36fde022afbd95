"""Custom resources of an arm: their definitions, without which it cannot start.

The definitions stay on the cluster, as other arms may use them. The objects that the
arm made go with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.wait import HANG_S


@contextmanager
def custom_resources(
    cluster: Cluster, definitions: Path, made: Mapping[str, str]
) -> Iterator[None]:
    """Apply a folder's definitions; at the end, delete what the arm has made.

    That is all objects of the kinds ``made``, each in the namespace that it names.
    """
    with cluster.api_client() as api:
        objects = Objects(api)
        for file in sorted(definitions.glob("*.yaml")):
            manifest = yaml.safe_load(file.read_text("utf-8"))
            name = manifest["metadata"]["name"]
            if not objects.create(manifest, or_keep=True):
                objects.patch(DEFINITION, name, manifest)
            objects.await_definition(name, HANG_S)
        try:
            yield
        finally:
            # A cluster that does not answer any more takes its objects along.
            with uninterrupted(), suppress(ApiUnreachableError):
                for kind, namespace in made.items():
                    objects.delete_all(kind, namespace)
