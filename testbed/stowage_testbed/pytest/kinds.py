"""The kinds of objects that a cluster serves, as its API reports them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubernetes.client import ApiClient

from stowage_testbed.api_client import ask
from stowage_testbed.errors import StowageError

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    Attributes
    ----------
    preferred
        Its version is the one in which the server likes to show it.
    """

    api_version: str
    name: str
    plural: str
    namespaced: bool
    verbs: frozenset[str]
    preferred: bool

    @property
    def group(self) -> str:
        """The group of its version; empty for the core."""
        return self.api_version.rpartition("/")[0]

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of one object, of those of a namespace, or of all."""
        root = "apis" if self.group else "api"
        parts = ["", root, self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *filter(None, (name,))])


class Kinds:
    """All kinds of a cluster, asked for once and again when one is missing.

    Parameters
    ----------
    api
        Client of the cluster.
    """

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._all: tuple[Kind, ...] = ()

    def all(self) -> tuple[Kind, ...]:
        """Return every kind, in every version."""
        if not self._all:
            self.look_again()
        return self._all

    def look_again(self) -> None:
        """Ask the cluster anew: definitions come and go."""
        self._all = tuple(
            kind for root in ("/api", "/apis") for kind in _served(self._api, root)
        )

    def kind(self, api_version: str, name: str) -> Kind:
        """Return the kind that a manifest names.

        Raises
        ------
        StowageError
            The cluster does not serve it.
        """
        for attempt in (1, 2):
            for kind in self.all():
                if (kind.api_version, kind.name) == (api_version, name):
                    return kind
            if attempt == 1:
                self.look_again()
        raise StowageError(
            f"the cluster serves no {name} of {api_version}; apply its "
            "CustomResourceDefinition first, or put the release there that brings it"
        )


def _served(api: ApiClient, root: str) -> Iterator[Kind]:
    answer = ask(api, "GET", root, "tell its kinds", accept=_ACCEPT)
    for group in answer.get("items", ()):
        name = group.get("metadata", {}).get("name", "")
        for number, version in enumerate(group.get("versions", ())):
            api_version = "/".join(filter(None, (name, version["version"])))
            for resource in version.get("resources", ()):
                yield _kind(api_version, resource, preferred=number == 0)


def _kind(api_version: str, resource: dict[str, Any], *, preferred: bool) -> Kind:
    return Kind(
        api_version=api_version,
        name=resource["responseKind"]["kind"],
        plural=resource["resource"],
        namespaced=resource["scope"] == "Namespaced",
        verbs=frozenset(resource["verbs"]),
        preferred=preferred,
    )
