"""What a pod may learn about itself: fieldRef and resourceFieldRef."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from stowage_testbed.hostpods.errors import FeatureNotSupportedError
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.quantity import amount

POD_IP = "127.0.0.1"
"""Host pods share the host's loopback interface and listen nowhere else."""

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(?P<key>[^']+)'\]")


def pod_field(pod: Manifest, path: str, *, whole_maps: bool = False) -> str:
    """Return the text of a pod's field.

    Parameters
    ----------
    pod
        The pod.
    path
        As in ``fieldRef.fieldPath``: ``metadata.name``, ``metadata.labels['app']``.
    whole_maps
        Allows ``metadata.labels`` and ``metadata.annotations`` as such, which volumes
        may show and variables may not.

    Raises
    ------
    FeatureNotSupportedError
        The field does not exist, or not for this use.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    if match := _SUBSCRIPT.fullmatch(path):
        return str(metadata.get(match[1], {}).get(match["key"], ""))
    if whole_maps and path in ("metadata.labels", "metadata.annotations"):
        return _lines(metadata.get(path.removeprefix("metadata."), {}))
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec["nodeName"],
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        "status.podIP": POD_IP,
        "status.podIPs": POD_IP,
        "status.hostIP": POD_IP,
        "status.hostIPs": POD_IP,
    }
    if path not in known:
        raise FeatureNotSupportedError(
            f"field {path!r} of a pod is not known here; known are "
            + ", ".join(sorted(known))
        )
    return str(known[path])


def resource_field(
    container: Manifest, reference: Manifest, capacity: Mapping[str, str]
) -> str:
    """Return a container's limit or request in units of the divisor, rounded up.

    Without a limit, the node's capacity counts, as a kubelet has it.
    """
    side, _, resource = str(reference["resource"]).partition(".")
    given = container.get("resources", {}).get(side, {})
    default = capacity.get(resource, "0") if side == "limits" else "0"
    divisor = amount(reference.get("divisor", "1")) or 1
    return str(math.ceil(amount(given.get(resource, default)) / divisor))


def _lines(values: Mapping[str, str]) -> str:
    quoted = {
        key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for key, value in values.items()
    }
    return "\n".join(f'{key}="{quoted[key]}"' for key in sorted(quoted))
