"""A namespace for one burst, with nothing that watches it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from kubernetes.client import ApiClient, CoreV1Api

from stowage_testbed.observe.pod_count import pod_count
from stowage_testbed.run.objects import Objects
from stowage_testbed.wait import wait_until

PREPARE_S = 30.0
CLEAR_S = 300.0
POLL_S = 0.25
"""Between two looks at one small object: nothing beside a burst of hundreds of pods."""


@contextmanager
def burst_namespace(api: ApiClient) -> Iterator[str]:
    """Yield a new namespace that takes pods; it is empty and deleted afterwards."""
    name = f"burst-{secrets.token_hex(3)}"
    objects, core = Objects(api), CoreV1Api(api)
    objects.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    try:
        wait_until(
            f"the default service account of {name}",
            lambda: len(core.list_namespaced_service_account(name).items),
            bool,
            timeout_s=PREPARE_S,
        )
        yield name
    finally:
        for kind in ("Deployment", "ReplicaSet", "Pod"):
            objects.delete_all(kind, name)
        wait_until(
            f"the pods of {name} to go",
            lambda: pod_count(core, name),
            lambda pods: pods == 0,
            timeout_s=CLEAR_S,
            poll_s=POLL_S,
        )
        objects.delete("Namespace", name)
