"""Custom resource definitions that an arm cannot start without.

They stay on the cluster: other arms and the user's own objects may use them, and taking
them back would delete every object of their kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, ApiextensionsV1Api

from testbed.cluster.protocol import Cluster
from testbed.wait import wait_until

ESTABLISHED_TIMEOUT_S = 30.0
_APPLY = "application/apply-patch+yaml"
_MANAGER = "stowage"


def apply_crds(cluster: Cluster, folder: Path) -> None:
    """Apply every definition of a folder, and wait until the API server serves them.

    Raises
    ------
    kubernetes.client.ApiException
        The API server refused one.
    WaitTimeoutError
        One was not served in time.
    """
    with cluster.api_client() as api:
        names = [_apply(api, file) for file in sorted(folder.glob("*.yaml"))]
        wait_until(
            f"the custom resources of {folder.name} to be served",
            lambda: _waiting(api, names),
            lambda waiting: not waiting,
            timeout_s=ESTABLISHED_TIMEOUT_S,
        )


def _apply(api: ApiClient, file: Path) -> str:
    manifest = yaml.safe_load(file.read_text("utf-8"))
    name = str(manifest["metadata"]["name"])
    extensions: Any = ApiextensionsV1Api(api)
    extensions.patch_custom_resource_definition(
        name, manifest, field_manager=_MANAGER, force=True, _content_type=_APPLY
    )
    return name


def _waiting(api: ApiClient, names: Sequence[str]) -> list[str]:
    extensions: Any = ApiextensionsV1Api(api)
    found = extensions.list_custom_resource_definition().items
    established = {
        one.metadata.name
        for one in found
        for condition in one.status.conditions or ()
        if condition.type == "Established" and condition.status == "True"
    }
    return [name for name in names if name not in established]
