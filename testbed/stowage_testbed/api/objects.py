"""Objects of a cluster, whatever kind they are of: made, changed, listed, deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import APPLY, MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiRefusedError, Manifest, ask
from stowage_testbed.api.kinds import DEFINITION, kinds_of
from stowage_testbed.base.wait import wait_until

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

PAGE = 500  # Objects that one request lists or deletes, as the client library of Go has it


def make_manifest(api_version: str, kind: str, name: str, namespace: str = "", **parts: Any) -> Manifest:
    """Return an object of a kind, with a spec or whatever else it has."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def is_observed(body: Mapping[str, Any]) -> bool:
    """Return whether the controller of an object has seen it as it is now."""
    seen = (body.get("status") or {}).get("observedGeneration", 0)
    return bool(seen >= body["metadata"].get("generation", 1))


def list_dropped(asked: object, made: object, path: str) -> Iterator[str]:
    """Yield the fields of an object that the server left out."""
    if isinstance(asked, dict) and isinstance(made, dict):
        for name, value in asked.items():
            if name in made:
                yield from list_dropped(value, made[name], f"{path}.{name}")
            elif value:  # the server leaves out what is empty
                yield f"{path}.{name}"
    elif isinstance(asked, list) and isinstance(made, list) and len(asked) == len(made):
        # Where there are more, the server has added some of its own.
        for number, (one, other) in enumerate(zip(asked, made, strict=True)):
            yield from list_dropped(one, other, f"{path}[{number}]")


class Objects:
    """The objects of a cluster by kind, name and namespace.

    A kind is named as in ``Pod`` or ``apps/v1/Deployment``. Each method raises what `ask` and `Kinds.find` raise. A
    request may take ``timeout_s``, or as long as the client allows.
    """

    def __init__(self, api: ApiClient, timeout_s: float | None = None) -> None:
        self._api = api
        self._timeout_s = timeout_s
        self.kinds = kinds_of(api)

    def create(
        self, manifest: Manifest, *, or_keep: bool = False, strict: bool = False, dry_run: bool = False
    ) -> dict[str, Any]:
        """Create an object and return it as the server made it.

        With ``or_keep`` an object of that name that is there already is left alone, with ``dry_run`` none is
        made, but it is refused as it would be. If ``strict``, a field that the server does not know is an
        error, and not passed over.
        """
        metadata = manifest["metadata"]
        path = self.kinds.of(manifest).path(metadata.get("namespace", ""))
        name = metadata.get("name") or metadata["generateName"]
        what = f"create {manifest['kind']} {name}"
        allowed = {HTTPStatus.CONFLICT} if or_keep else set()
        query = [("fieldValidation", "Strict")] if strict else []
        query += [("dryRun", "All")] if dry_run else []
        return self._ask("POST", path, what, manifest, allowed=allowed, query=query)

    def apply(self, manifest: Manifest, *, manager: str) -> dict[str, Any]:
        """Create or change an object by server-side apply, and return it as the server has it.

        Fields that an earlier manifest of this manager had, and this one lacks, go. An object whose name the
        server chooses is created. A Node has what it can give in its status, which is applied as well.
        """
        metadata, kind = manifest["metadata"], self.kinds.of(manifest)
        name = metadata.get("name")
        is_node = kind.name == "Node"
        if not name or (is_node and not self.exists("Node", name)):
            return self.create(manifest, strict=True)
        path = kind.path(metadata.get("namespace", ""), name)
        query = [("fieldManager", manager), ("force", "true"), ("fieldValidation", "Strict")]
        what = f"apply {kind.name} {name}"
        made = self._ask("PATCH", path, what, json.dumps(manifest), content=APPLY, query=query)
        if is_node and (status := manifest.get("status")):
            # As the server fills it in when it creates a node.
            status = {"allocatable": status["capacity"], **status} if "capacity" in status else status
            only_status = make_manifest(kind.api_version, kind.name, name, status=status)
            made = self._ask("PATCH", f"{path}/status", what, json.dumps(only_status), content=APPLY, query=query)
        return made

    def patch(
        self,
        kind: str,
        name: str,
        change: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
        strategic: bool = False,
    ) -> dict[str, Any]:
        """Merge a change into an object, or into its subresource.

        If ``strategic``, lists are merged by the keys of their elements, where the kind has such keys.
        """
        path = self._path(kind, namespace, name, subresource)
        what = f"change {kind} {name}"
        if strategic:
            unsupported = {HTTPStatus.UNSUPPORTED_MEDIA_TYPE}  # a custom resource
            made = self._ask("PATCH", path, what, change, content=STRATEGIC_MERGE_PATCH, allowed=unsupported)
            if made:
                return made
        return self._ask("PATCH", path, what, change, content=MERGE_PATCH)

    def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Ask for a pod to be evicted; a budget may refuse it."""
        options = {"preconditions": {"uid": uid}}
        eviction = make_manifest("policy/v1", "Eviction", name, namespace, deleteOptions=options)
        path = self._path("Pod", namespace, name, "eviction")
        self._ask("POST", path, f"evict Pod {name}", eviction)

    def bind(self, name: str, *, namespace: str, node: str) -> None:
        """Bind a pod to a node, as a scheduler does."""
        binding = make_manifest("v1", "Binding", name, namespace, target={"kind": "Node", "name": node})
        path = self._path("Pod", namespace, name, "binding")
        self._ask("POST", path, f"bind Pod {name} to {node}", binding)

    def list_all(self, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        """Return every object of a kind, of a namespace if one is given, read page by page."""
        return list(self.each(kind, namespace))

    def each(self, kind: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        """Yield what `list_all` returns, with one page in memory at a time."""
        # A list does not say of its items what they are.
        one = self.kinds.find(kind)
        header = {"apiVersion": one.api_version, "kind": one.name}
        for page in self._pages("GET", one.path(namespace), f"list every {kind}"):
            for item in page.get("items") or []:
                yield {**header, **item}

    def count(self, kind: str, namespace: str = "") -> int:
        """Return how many objects there are, of which only one is listed."""
        path, query = self._path(kind, namespace), [("limit", "1")]
        page = self._ask("GET", path, f"count every {kind}", query=query)
        more = page["metadata"].get("remainingItemCount")
        return len(page.get("items") or []) + int(more or 0)

    def read(self, kind: str, name: str, *, namespace: str = "") -> dict[str, Any]:
        """Return an object as it is now; watches may be a little behind."""
        return self._ask("GET", self._path(kind, namespace, name), f"read {kind} {name}")

    def exists(self, kind: str, name: str, *, namespace: str = "") -> bool:
        """Return whether there is such an object; not of a kind that is not served."""
        served = self.kinds.find_served(kind)
        if served is None:
            return False
        path, missing = served.path(namespace, name), {HTTPStatus.NOT_FOUND}
        return bool(self._ask("GET", path, f"read {kind} {name}", allowed=missing))

    def delete(self, kind: str, name: str, *, namespace: str = "", at_once: bool = False) -> None:
        """Delete an object; no error if it is not there, nor if its kind is not served.

        Its dependents go as well, by the garbage collector. With ``at_once`` a pod gets no time to end.
        """
        grace = {"gracePeriodSeconds": 0} if at_once else {}
        options = {"propagationPolicy": "Background", **grace}
        if served := self.kinds.find_served(kind):
            path, missing = served.path(namespace, name), {HTTPStatus.NOT_FOUND}
            self._ask("DELETE", path, f"delete {kind} {name}", options, allowed=missing)

    def delete_all(self, kind: str, namespace: str = "", *, fields: str = "") -> None:
        """Delete every object of a kind that a field selector chooses, in a namespace if the kind has them.

        Pods go at once: nothing on a fake node needs time to end. Page by page, since one request has a minute only.
        """
        options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        if served := self.kinds.find_served(kind):
            path, missing = served.path(namespace), {HTTPStatus.NOT_FOUND}
            what = f"delete every {kind}"
            for _ in self._pages("DELETE", path, what, options, fields=fields, allowed=missing):
                pass

    def await_definition(self, name: str, timeout_s: float) -> None:
        """Return when the kind that a CustomResourceDefinition brings can be used; a WaitTimeoutError says what lacks.

        Its objects can then be listed. Where nobody has listed any, the definition may stay for minutes when it
        is deleted: the server's finalizer finds that "storage is (re)initializing", then a conflict with its
        own note of that, and takes that for a change that will call it again (Kubernetes 1.36.3).
        """

        def lacks() -> str:
            definition = self.read(DEFINITION, name)
            conditions = (definition.get("status") or {}).get("conditions") or ()
            held = [one["type"] for one in conditions if one["status"] == "True"]
            if "Established" not in held:
                return f"conditions {held}"
            spec = definition["spec"]
            served = [version["name"] for version in spec["versions"] if version["served"]]
            try:
                for version in served[:1]:
                    self.count(f"{spec['group']}/{version}/{spec['names']['kind']}")
            except ApiRefusedError as error:
                return str(error)
            return ""

        wait_until(f"{DEFINITION} {name} to be established", lacks, lambda lacking: not lacking, timeout_s=timeout_s)

    def _pages(
        self, method: str, path: str, what: str, body: Any = None, *, fields: str = "", **options: Any
    ) -> Iterator[dict[str, Any]]:
        asked = [("limit", str(PAGE)), *([("fieldSelector", fields)] if fields else [])]
        query = asked
        while True:
            page = self._ask(method, path, what, body, query=query, **options)
            yield page
            left = page.get("metadata", {}).get("continue")
            if not left:
                return
            query = [*asked, ("continue", left)]

    def _path(self, kind: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
        return self.kinds.find(kind).path(namespace, name, subresource)

    def _ask(self, method: str, path: str, what: str, body: Any = None, **options: Any) -> dict[str, Any]:
        options["timeout_s"] = self._timeout_s
        return ask(self._api, method, path, what, body, **options)
