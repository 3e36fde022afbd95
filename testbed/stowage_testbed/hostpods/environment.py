"""The variables of a container's process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from stowage_testbed.hostpods.manifest import Manifest

HOST_VARIABLES = ("PATH", "LANG")
"""All that a process inherits from this machine, in place of an image's own."""

_REFERENCE = re.compile(r"\$(?:\$|\((?P<name>[^()\s]+)\))")


def container_environment(container: Manifest, api_url: str) -> dict[str, str]:
    """Return the variables in the kubelet's order: those of the node, then ``env``."""
    address = urlsplit(api_url)
    port = str(address.port or 443)
    variables = {
        **{name: os.environ[name] for name in HOST_VARIABLES if name in os.environ},
        "KUBERNETES_SERVICE_HOST": address.hostname or "",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }
    for entry in container.get("env", ()):
        variables[entry["name"]] = expand(entry.get("value", ""), variables)
    return variables


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace Kubernetes' own ``$(NAME)`` in values, commands and arguments.

    A name without a value stays as it is, and ``$$(NAME)`` means a literal
    ``$(NAME)``, as the API's reference has it.
    """

    def value(match: re.Match[str]) -> str:
        if match["name"] is None:
            return "$"
        return variables.get(match["name"], match[0])

    return _REFERENCE.sub(value, text)
