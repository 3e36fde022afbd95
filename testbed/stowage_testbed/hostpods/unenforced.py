"""What a pod's security context asks for and a process on the host cannot have."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_testbed.hostpods.manifest import Manifest


def unenforced_settings(pod: Manifest) -> list[str]:
    """Return the settings, as ``container.setting``, that are taken note of only."""

    def named() -> Iterator[tuple[str, Manifest]]:
        spec = pod["spec"]
        yield "pod", spec.get("securityContext", {})
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            yield container["name"], container.get("securityContext", {})
            if "limits" in container.get("resources", {}):
                yield container["name"], {"resources.limits": container["resources"]}

    return sorted(
        f"{owner}.{setting}" for owner, context in named() for setting in context
    )
