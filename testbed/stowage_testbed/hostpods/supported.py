"""What of a pod's spec is played here, what is refused, and what is ignored.

A field that would change what the containers do, and is not played, is refused: a pod
that ran without it would prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.hostpods.api import Manifest
from stowage_testbed.hostpods.node import HOST_LABEL

_POD = [
    "initContainers",
    "ephemeralContainers",
    "readinessGates",
    "activeDeadlineSeconds",
    "hostAliases",
    "resourceClaims",
]
_CONTAINER = ("envFrom", "lifecycle", "restartPolicy", "volumeDevices")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBED_BY = ("exec", "httpGet")
_VOLUMES = ("emptyDir", "configMap", "secret", "projected")
_PROJECTED = ("configMap", "secret", "serviceAccountToken")
_PROBE_SETTINGS = frozenset(
    f"{one}Seconds" for one in ("initialDelay", "timeout", "period", "terminationGracePeriod")
) | {"successThreshold", "failureThreshold"}


def asks_for_the_host(pod: Manifest) -> bool:
    """Return whether a pod names the host's taint, and does not tolerate just any.

    Daemons that do may be anybody's; a fake node would not start them either.
    """
    tolerations = pod["spec"].get("tolerations", ())
    return any(one.get("key") == HOST_LABEL for one in tolerations)


def unsupported_fields(pod: Manifest) -> list[str]:
    """Return the fields of a pod that are not played, as ``kubectl explain`` has them.

    A container or volume is named in place of its number.
    """
    spec = pod["spec"]
    found = [f"spec.{field}" for field in _POD if spec.get(field)]
    if (policy := spec.get("restartPolicy", "Always")) != "Always":
        found.append(f"spec.restartPolicy: {policy}")
    for container in spec["containers"]:
        found += _of_container(container, f"spec.containers[{container['name']}]")
    for volume in spec.get("volumes", ()):
        found += _of_volume(volume, f"spec.volumes[{volume['name']}]")
    return found


def _of_container(container: Manifest, path: str) -> Iterator[str]:
    yield from (f"{path}.{field}" for field in _CONTAINER if container.get(field))
    for variable in container.get("env", ()):
        if "valueFrom" in variable:
            yield f"{path}.env[{variable['name']}].valueFrom"
    for mount in container.get("volumeMounts", ()):
        for field in ("subPath", "subPathExpr"):
            if mount.get(field):
                yield f"{path}.volumeMounts[{mount['name']}].{field}"
    for kind in _PROBES:
        for field in container.get(kind, {}).keys() - _PROBE_SETTINGS:
            if field not in _PROBED_BY:
                yield f"{path}.{kind}.{field}"
        if container.get(kind, {}).get("httpGet", {}).get("httpHeaders"):
            yield f"{path}.{kind}.httpGet.httpHeaders"


def _of_volume(volume: Manifest, path: str) -> Iterator[str]:
    yield from (f"{path}.{kind}" for kind in volume if kind not in ("name", *_VOLUMES))
    for source in volume.get("projected", {}).get("sources", ()):
        for kind in source:
            if kind not in _PROJECTED:
                yield f"{path}.projected.sources.{kind}"


def unenforced_settings(pod: Manifest) -> list[str]:
    """Return what isolates a container elsewhere and not here, to be taken note of."""
    spec = pod["spec"]
    found = [f"pod.{setting}" for setting in spec.get("securityContext", {})]
    for container in spec["containers"]:
        name = container["name"]
        found += [f"{name}.{one}" for one in container.get("securityContext", {})]
        if "limits" in container.get("resources", {}):
            found.append(f"{name}.resources.limits")
    return sorted(found)
