"""A cluster from its API server, or from what kubectl printed; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import msgspec
from kubernetes.client import ApiClient, ApiException, VersionApi
from urllib3.exceptions import HTTPError

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError, new_api_client
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.simulate import Remark
from stowage_testbed.whatif.inventory import (
    DEVICE_CLASS,
    FURTHER,
    OF_DEVICES,
    Inventory,
    Manifest,
    inventory_of,
    reduced,
)

TIMEOUT_S = 30.0
VERSIONS = {kind: f"resource.k8s.io/v1/{kind}" for kind in OF_DEVICES}
"""Kinds of which an older version reads otherwise; the others have had one for long."""

Keep = Callable[[Manifest], Manifest]

UNAVAILABLE = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

NO_BUDGETS = "disruption budgets: the files list none; if there are any, a move may break one"
"""A list without any is what kubectl prints where there are none, and where nobody
asked for them."""


def read_context(context: str | None, kubeconfig: Path | None = None) -> Inventory:
    """Return what the cluster of a context holds; without one, of kubectl's own choice.

    Raises
    ------
    StowageError
        There is no such context, no API server answers, or nodes or pods may not be
        listed.
    """
    with new_api_client(kubeconfig, context) as client:
        return read_api(client)


def read_api(client: ApiClient) -> Inventory:
    """Return what the API server of a client holds; as `read_context` raises."""
    reader, found, unread = Objects(client, TIMEOUT_S), list[Manifest](), []
    for kind in ("Node", "Pod", *FURTHER):
        try:
            found += [reduced(one) for one in reader.each(VERSIONS.get(kind, kind))]
        except ApiUnreachableError as error:
            raise _gone(error.cause) from error
        except ApiRefusedError as error:
            if kind == DEVICE_CLASS and error.status == HTTPStatus.NOT_FOUND:
                continue  # a cluster that serves none has none
            if error.status not in UNAVAILABLE:
                raise _gone(f"{error.status}: {error.body}") from error
            if kind not in FURTHER:
                raise StowageError(
                    f"the API server lets nobody list {kind} ({error.status}: "
                    f"{error.body}); what-if needs a ClusterRole with the verb list on "
                    "nodes, pods and poddisruptionbudgets, and writes nothing"
                ) from error
            unread.append(kind)
    inventory = inventory_of(found, unread)
    return replace(inventory, version=_version(client) or inventory.version)


def _version(client: ApiClient) -> str:
    """Return the API server's version; empty where it does not tell."""
    try:
        return str(VersionApi(client).get_code(_request_timeout=TIMEOUT_S).git_version)
    except (ApiException, HTTPError):
        return ""


def _gone(why: str) -> StowageError:
    return StowageError(
        f"the API server does not answer ({why}); try: kubectl get nodes, or give the objects as files with --file"
    )


def read_files(paths: Sequence[Path]) -> Inventory:
    """Return what is in the files; what kinds are missing is said in it.

    Raises
    ------
    InputError
        A file is not JSON or holds no objects, or there are no nodes or no pods.
    """
    left_out = list[Remark]()
    objects = [one for path in paths for one in read_list(path, left_out)]
    there = {one["kind"] for one in objects}
    unread = [kind for kind in FURTHER if kind not in there]
    inventory = inventory_of(objects, unread, left_out)
    words = {FURTHER["PodDisruptionBudget"]: NO_BUDGETS}
    return replace(inventory, unread=tuple(words.get(one, one) for one in inventory.unread))


class _Document(msgspec.Struct):
    """An object, or a list of them that are still to be parsed."""

    apiVersion: str = ""  # noqa: N815 - the name in the file
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def read_list(path: Path, left_out: list[Remark], keep: Keep = reduced) -> Iterator[Manifest]:
    """Yield the objects of a file that kubectl printed.

    Parameters
    ----------
    left_out
        Takes what is no object.
    keep
        Returns of an object what is wanted, when its turn comes.

    Raises
    ------
    InputError
        The file cannot be read, is not JSON, or holds no objects.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _no_list(path, f"cannot be read: {error.strerror}") from error
    try:
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.ValidationError as error:
        raise _no_list(path, "holds no Kubernetes objects") from error
    except msgspec.DecodeError as error:
        raise _no_list(path, f"is not JSON ({error})") from error
    if not document.kind:
        raise _no_list(path, "holds no Kubernetes objects")
    yield from _flat(path, content, document, left_out, keep)


def _flat(
    path: Path, content: bytes | msgspec.Raw, document: _Document, left_out: list[Remark], keep: Keep
) -> Iterator[Manifest]:
    """Yield the objects of lists within lists, each parsed when its turn comes.

    A list of a large cluster is hundreds of megabytes when all of it is parsed; what is
    kept of it is a fraction.
    """
    if document.items is None:
        header = {"kind": document.kind, "apiVersion": document.apiVersion or "v1"}
        yield keep({**msgspec.json.decode(content), **header})
        return
    for place, item in enumerate(document.items, 1):
        try:
            part = msgspec.json.decode(item, type=_Document)
            # The items of a typed list do not say what they are.
            part.kind = part.kind or document.kind.removesuffix("List")
            part.apiVersion = part.apiVersion or document.apiVersion
            yield from _flat(path, item, part, left_out, keep)
        except msgspec.DecodeError as error:
            where = f"item {place} of {path.name}"
            left_out.append(Remark(where, f"is no Kubernetes object: {error}"))


def _no_list(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json")
