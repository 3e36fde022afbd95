"""A cluster from its API server, or from what kubectl printed; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from pathlib import Path

import msgspec
from kubernetes.client import ApiClient

from stowage_testbed.api_client import (
    ApiRefusedError,
    ApiUnreachableError,
    Objects,
    new_api_client,
)
from stowage_testbed.errors import InputError, StowageError
from stowage_testbed.whatif.inventory import (
    FURTHER,
    Inventory,
    Manifest,
    inventory_of,
    reduced,
)

TIMEOUT_S = 30.0
UNAVAILABLE = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

NO_BUDGETS = (
    "disruption budgets: the files list none; if there are any, a move may break one"
)
"""A list without any is what kubectl prints where there are none, and where nobody
asked for them."""


def read_context(context: str | None, kubeconfig: Path | None = None) -> Inventory:
    """Return what the cluster of a context holds.

    Parameters
    ----------
    context
        Of the kubeconfig; its own choice without one.
    kubeconfig
        Path of the file; kubectl's own choice without one.

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
    for kind, without in {"Node": "", "Pod": "", **FURTHER}.items():
        try:
            found += [reduced(one) for one in reader.each(kind)]
        except ApiUnreachableError as error:
            raise _gone(error.cause) from error
        except ApiRefusedError as error:
            if error.status not in UNAVAILABLE:
                raise _gone(f"{error.status}: {error.body}") from error
            if not without:
                raise StowageError(
                    f"the API server lets nobody list {kind} ({error.status}: "
                    f"{error.body}); what-if needs a ClusterRole with the verb list on "
                    "nodes, pods and poddisruptionbudgets, and writes nothing"
                ) from error
            unread.append(without)
    return inventory_of(found, unread)


def _gone(why: str) -> StowageError:
    return StowageError(
        f"the API server does not answer ({why}); try: kubectl get nodes, or give the "
        "objects as files with --file"
    )


def read_files(paths: Sequence[Path]) -> Inventory:
    """Return what is in the files; what kinds are missing is said in it.

    Raises
    ------
    InputError
        A file is not JSON, or holds something else than objects, or there are no nodes
        or no pods.
    """
    objects = [one for path in paths for one in _objects(path)]
    there = {one["kind"] for one in objects}
    unread = [
        NO_BUDGETS if kind == "PodDisruptionBudget" else without
        for kind, without in FURTHER.items()
        if kind not in there
    ]
    return inventory_of(objects, unread)


class _Document(msgspec.Struct):
    """An object, or a list of them that are still to be parsed."""

    apiVersion: str = ""  # noqa: N815 - the name in the file
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def _objects(path: Path) -> Iterator[Manifest]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _no_list(path, f"cannot be read: {error.strerror}") from error
    try:
        yield from _flat(path, content, None)
    except msgspec.DecodeError as error:
        raise _no_list(path, f"is not JSON ({error})") from error


def _flat(
    path: Path, content: bytes | msgspec.Raw, around: _Document | None
) -> Iterator[Manifest]:
    """Yield the objects of lists within lists, each parsed when its turn comes.

    A list of a large cluster is hundreds of megabytes when all of it is parsed; what is
    kept of it is a tenth.
    """
    try:
        document = msgspec.json.decode(content, type=_Document)
    except msgspec.ValidationError as error:
        why = (
            "has an item that is no object" if around else "holds no Kubernetes objects"
        )
        raise _no_list(path, why) from error
    if around:
        # The items of a typed list do not say what they are.
        document.kind = document.kind or around.kind.removesuffix("List")
        document.apiVersion = document.apiVersion or around.apiVersion
    document.apiVersion = document.apiVersion or "v1"
    if not document.kind:
        raise _no_list(path, "holds no Kubernetes objects")
    if document.items is not None:
        for item in document.items:
            yield from _flat(path, item, document)
        return
    one = msgspec.json.decode(content)
    if not isinstance(one.get("metadata"), dict):
        raise _no_list(path, f"has a {document.kind} without metadata")
    yield reduced({**one, "kind": document.kind, "apiVersion": document.apiVersion})


def _no_list(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json"
    )
