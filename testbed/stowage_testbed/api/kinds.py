"""The kinds of objects that a cluster serves, as its API reports them.

The client library's own discovery asks group by group, forty requests, and keeps what
it found in a file in the folder for temporary ones; aggregated discovery takes two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, proxy

from stowage_testbed.api.client import ApiRefusedError, ask

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_ACCEPT = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

OURS = "stowage.dev"  # The group of Stowage's own kinds
DEFINITION = "CustomResourceDefinition"  # The kind that brings others
_ALIKE = 5  # Kinds that are named where one is missing


class KindMissingError(ApiRefusedError):
    """The cluster serves no such kind."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"list {name}", HTTPStatus.NOT_FOUND, why)
        self.args = (why,)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object; ``preferred`` in the version in which the server likes to show it."""

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

    @property
    def built_in(self) -> bool:
        """Whether Kubernetes or Stowage brings it."""
        own = "." not in self.group or self.group.endswith(".k8s.io")
        return own or self.group == OURS

    @property
    def key(self) -> str:
        """Its name, with the group where somebody else's kind may have that name."""
        return self.name if self.built_in else f"{self.name}.{self.group}"

    @property
    def full_name(self) -> str:
        """Its version and name, by which it is told from all others."""
        return f"{self.api_version}/{self.name}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of one object, of those of a namespace, or of all."""
        root = "apis" if self.group else "api"
        parts = ["", root, self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *filter(None, (name, subresource))])


class Kinds:
    """All kinds of a cluster, asked for once and again when one is missing."""

    def __init__(self, api: ApiClient) -> None:
        # Else what is known of a client would keep it from going.
        self._api: ApiClient = proxy(api)
        self._all: tuple[Kind, ...] = ()
        self._by_name: dict[str, list[Kind]] = {}

    def all(self) -> tuple[Kind, ...]:
        """Return every kind, in every version."""
        if not self._all:
            self.look_again()
        return self._all

    def look_again(self) -> None:
        """Ask the cluster anew: definitions come and go."""
        every = tuple(kind for root in ("/api", "/apis") for kind in _list_served(self._api, root))
        by_name = defaultdict[str, list[Kind]](list)
        for kind in every:
            by_name[kind.name].append(kind)
        self._all, self._by_name = every, dict(by_name)

    def find(self, name: str) -> Kind:
        """Return the kind of a name, as in ``Pod`` or ``apps/v1/Deployment``.

        Without a version it is the one that the server prefers. Where several groups have a kind of that name, the one
        that Kubernetes brings is meant. Raises a KindMissingError if the cluster serves no such kind, or several.
        """
        if served := self.find_served(name):
            return served
        raise KindMissingError(name, self._why(name))

    def find_served(self, name: str) -> Kind | None:
        """Return what `find` does; None where the cluster serves no such kind."""
        if found := self._find(name):
            return found
        self.look_again()
        return self._find(name)

    def find_known(self, manifest: Mapping[str, Any]) -> Kind | None:
        """Return the kind of an object if it was served when last asked."""
        return self._find(_name_of(manifest))

    def _find(self, name: str) -> Kind | None:
        version, _, own = name.rpartition("/")
        served = self._by_name.get(own, [])
        if version:
            found = [one for one in served if one.api_version == version]
        else:
            preferred = [one for one in served if one.preferred]
            of_core = [one for one in preferred if not one.group]
            found = of_core or [one for one in preferred if one.built_in] or preferred
        return found[0] if len(found) == 1 else None

    def of(self, manifest: Mapping[str, Any]) -> Kind:
        """Return the kind of an object, or raise as `find` does; one without version may be of any."""
        return self.find(_name_of(manifest))

    def _why(self, name: str) -> str:
        version, _, own = name.rpartition("/")
        served = self._by_name.get(own, [])
        of = f" of {version}" if version else ""
        if served:
            versions = ", ".join(sorted({one.api_version for one in served}))
            return f"the cluster serves no {own}{of} but {own} of {versions}; write the apiVersion that is meant"
        alike = get_close_matches(own, self._by_name, _ALIKE, 0.6)
        hint = f"; there are {', '.join(alike)}" if alike else ""
        return (
            f"the cluster serves no {own}{of}{hint}; apply its "
            "CustomResourceDefinition first, or put the release there that brings it"
        )


_KNOWN: WeakKeyDictionary[ApiClient, Kinds] = WeakKeyDictionary()


def kinds_of(api: ApiClient) -> Kinds:
    """Return the kinds of a client's cluster, the same for every caller."""
    if api not in _KNOWN:
        _KNOWN[api] = Kinds(api)
    return _KNOWN[api]


def _name_of(manifest: Mapping[str, Any]) -> str:
    version = manifest.get("apiVersion")
    return f"{version}/{manifest['kind']}" if version else str(manifest["kind"])


def _list_served(api: ApiClient, root: str) -> Iterator[Kind]:
    answer = ask(api, "GET", root, "tell its kinds", accept=_ACCEPT)
    for group in answer.get("items", ()):
        name, seen = group.get("metadata", {}).get("name", ""), set[str]()
        for version in group.get("versions", ()):
            for resource in version.get("resources", ()):
                first = resource["resource"] not in seen
                seen.add(resource["resource"])
                yield Kind(
                    api_version="/".join(filter(None, (name, version["version"]))),
                    name=resource["responseKind"]["kind"],
                    plural=resource["resource"],
                    namespaced=resource["scope"] == "Namespaced",
                    verbs=frozenset(resource["verbs"]),
                    preferred=first,
                )
