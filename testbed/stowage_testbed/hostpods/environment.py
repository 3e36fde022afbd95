"""The variables of a container's process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from stowage_testbed.hostpods.errors import (
    EnvironmentSourceError,
    FeatureNotSupportedError,
)
from stowage_testbed.hostpods.expansion import expand
from stowage_testbed.hostpods.fields import pod_field, resource_field
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.objects import Objects

HOST_VARIABLES = ("PATH", "LANG")
"""All that a process inherits from this machine, in place of an image's own."""


@dataclass(frozen=True, slots=True)
class NodeEnvironment:
    """What the node adds to every container.

    Attributes
    ----------
    objects
        Reads ConfigMaps and Secrets.
    api_url
        Address of the API server, for ``KUBERNETES_SERVICE_HOST`` and its port.
    capacity
        The node's resources, for limits that are not set.
    """

    objects: Objects
    api_url: str
    capacity: Mapping[str, str]


async def container_environment(
    pod: Manifest, container: Manifest, node: NodeEnvironment
) -> dict[str, str]:
    """Return the variables in the kubelet's order: node, ``envFrom``, ``env``.

    Raises
    ------
    EnvironmentSourceError
        A ConfigMap, a Secret or one of their keys is missing and not optional.
    FeatureNotSupportedError
        A source of a kind that is not known here.
    """
    variables = {
        name: os.environ[name] for name in HOST_VARIABLES if name in os.environ
    }
    variables |= _api_variables(node.api_url)
    for source in container.get("envFrom", ()):
        variables |= await _all_keys(pod, source, node.objects)
    for entry in container.get("env", ()):
        if "valueFrom" in entry:
            value = await _value_from(pod, container, entry["valueFrom"], node)
        else:
            value = expand(entry.get("value", ""), variables)
        if value is not None:
            variables[entry["name"]] = value
    return variables


def _api_variables(url: str) -> dict[str, str]:
    address = urlsplit(url)
    port = str(address.port or 443)
    return {
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


async def _all_keys(
    pod: Manifest, source: Manifest, objects: Objects
) -> dict[str, str]:
    prefix = source.get("prefix", "")
    kind = "configMapRef" if "configMapRef" in source else "secretRef"
    data = await _read(pod, kind, source[kind], objects)
    return {prefix + key: value.decode(errors="replace") for key, value in data.items()}


async def _value_from(
    pod: Manifest, container: Manifest, source: Manifest, node: NodeEnvironment
) -> str | None:
    """Return the value, or ``None`` for an optional one that is not there."""
    if "fieldRef" in source:
        return pod_field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        reference = source["resourceFieldRef"]
        return resource_field(container, reference, node.capacity)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if kind in source:
            reference = source[kind]
            data = await _read(pod, kind, reference, node.objects)
            key = reference["key"]
            if key not in data and not reference.get("optional"):
                raise EnvironmentSourceError(
                    f"{kind} {reference['name']!r} has no key {key!r}; add it, or mark "
                    "the reference optional"
                )
            return data[key].decode(errors="replace") if key in data else None
    raise FeatureNotSupportedError(
        f"a variable's source {', '.join(source)} is not known here; use value, "
        "fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef"
    )


async def _read(
    pod: Manifest, kind: str, reference: Manifest, objects: Objects
) -> Mapping[str, bytes]:
    namespace, name = pod["metadata"]["namespace"], reference["name"]
    read = objects.config_map if kind.startswith("configMap") else objects.secret
    data = await read(namespace, name)
    if data is None and not reference.get("optional"):
        raise EnvironmentSourceError(
            f"{kind} refers to {namespace}/{name}, which does not exist; create it, or "
            "mark the reference optional"
        )
    return data or {}
