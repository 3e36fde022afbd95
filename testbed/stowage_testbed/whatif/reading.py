"""A cluster from its API server, or from what kubectl printed; nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient

from stowage_testbed.api_client import (
    ApiRefusedError,
    ApiUnreachableError,
    Objects,
    new_api_client,
)
from stowage_testbed.errors import InputError, StowageError
from stowage_testbed.whatif.inventory import FURTHER, Inventory, Manifest, inventory_of

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
    for kind, without in {"Node": "", "Pod": "", **FURTHER}.items():
        try:
            found += reader.listed(kind)
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
    unread = [without for kind, without in FURTHER.items() if kind not in there]
    return inventory_of(objects, unread)


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


def _objects(path: Path) -> Iterator[Manifest]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _no_list(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _no_list(path, f"is not JSON ({error})") from error
    yield from _flat(path, document)


def _flat(path: Path, document: Any) -> Iterator[Manifest]:
    """Yield the objects of lists within lists."""
    if not isinstance(document, dict) or "kind" not in document:
        raise _no_list(path, "holds no Kubernetes objects")
    if isinstance(document.get("items"), list):
        # The items of a typed list do not say what they are.
        kind = str(document["kind"]).removesuffix("List")
        for item in document["items"]:
            if not isinstance(item, dict):
                raise _no_list(path, "has an item that is no object")
            named = {"kind": kind} if kind else {}
            version = document.get("apiVersion", "v1")
            yield from _flat(path, {"apiVersion": version, **named, **item})
    elif not isinstance(document.get("metadata"), dict):
        raise _no_list(path, f"has a {document['kind']} without metadata")
    else:
        yield document


def _no_list(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json"
    )
