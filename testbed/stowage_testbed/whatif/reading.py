"""A cluster from its API server, or from what kubectl printed; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path

import msgspec
import yaml
from kubernetes.client import ApiClient

from stowage_testbed.api_client import (
    ApiRefusedError,
    ApiUnreachableError,
    Objects,
    new_api_client,
)
from stowage_testbed.errors import InputError, StowageError
from stowage_testbed.simulate import Remark
from stowage_testbed.whatif.inventory import (
    FURTHER,
    Inventory,
    Manifest,
    inventory_of,
    reduced,
)

TIMEOUT_S = 30.0
UNAVAILABLE = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})

PLUGIN = "priorityOptimizer"
"""The value of the chart that holds the plugin's arguments."""


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
    for kind in ("Node", "Pod", *FURTHER):
        try:
            found += [reduced(one) for one in reader.each(kind)]
        except ApiUnreachableError as error:
            raise _gone(error.cause) from error
        except ApiRefusedError as error:
            if error.status not in UNAVAILABLE:
                raise _gone(f"{error.status}: {error.body}") from error
            if kind not in FURTHER:
                raise StowageError(
                    f"the API server lets nobody list {kind} ({error.status}: "
                    f"{error.body}); what-if needs a ClusterRole with the verb list on "
                    "nodes, pods and poddisruptionbudgets, and writes nothing"
                ) from error
            unread.append(kind)
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
        A file is not JSON or holds no objects, or there are no nodes or no pods.
    """
    left_out = list[Remark]()
    objects = [one for path in paths for one in _objects(path, left_out)]
    there = {one["kind"] for one in objects}
    unread = [kind for kind in FURTHER if kind not in there]
    return inventory_of(objects, unread, left_out)


def rules_of(path: Path) -> Mapping[str, object]:
    """Return the plugin's arguments in values of the chart; none, if they have none.

    Raises
    ------
    InputError
        The file is not YAML, or holds something else than values.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise _no_values(path, f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise _no_values(path, f"is not YAML ({error})") from error
    arguments = values.get(PLUGIN, {}) if isinstance(values, dict) else None
    if not isinstance(arguments, dict):
        raise _no_values(path, f"has no mapping {PLUGIN}")
    return arguments


def _no_values(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: {why}; make it with: helm get values --all -o yaml stowage "
        "--namespace stowage-system"
    )


class _Document(msgspec.Struct):
    """An object, or a list of them that are still to be parsed."""

    apiVersion: str = ""  # noqa: N815 - the name in the file
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def _objects(path: Path, left_out: list[Remark]) -> Iterator[Manifest]:
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
    yield from _flat(path, content, document, left_out)


def _flat(
    path: Path,
    content: bytes | msgspec.Raw,
    document: _Document,
    left_out: list[Remark],
) -> Iterator[Manifest]:
    """Yield the objects of lists within lists, each parsed when its turn comes.

    A list of a large cluster is hundreds of megabytes when all of it is parsed; what is
    kept of it is a fraction.
    """
    if document.items is None:
        header = {"kind": document.kind, "apiVersion": document.apiVersion or "v1"}
        yield reduced({**msgspec.json.decode(content), **header})
        return
    for place, item in enumerate(document.items, 1):
        try:
            part = msgspec.json.decode(item, type=_Document)
            # The items of a typed list do not say what they are.
            part.kind = part.kind or document.kind.removesuffix("List")
            part.apiVersion = part.apiVersion or document.apiVersion
            yield from _flat(path, item, part, left_out)
        except msgspec.DecodeError as error:
            where = f"item {place} of {path.name}"
            left_out.append(Remark(where, f"is no Kubernetes object: {error}"))


def _no_list(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json"
    )
