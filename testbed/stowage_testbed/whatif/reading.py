"""A cluster's objects from its API server, or from what kubectl printed; nothing is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

import msgspec
from kubernetes.client import ApiClient, ApiException, VersionApi
from urllib3.exceptions import HTTPError

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.files import to_utf8
from stowage_testbed.simulate.instance import Remark
from stowage_testbed.whatif.inventory import DEVICE_CLASS, FURTHER, VERSIONS, Inventory, Manifest, inventory_of, reduced

TIMEOUT_S = 30.0
NO_BUDGETS = "disruption budgets: the files list none; if there are any, a move may break one"
"""kubectl prints a list without budgets where there are none, and where nobody asked for them."""


def read_api(client: ApiClient) -> Inventory:
    """Return the inventory of a cluster; raises a StowageError if it does not answer, or lists no nodes or pods."""
    found, unread = list_kinds(Objects(client, TIMEOUT_S), ("Node", "Pod"), FURTHER, VERSIONS, reduced)
    if DEVICE_CLASS in unread and unread[DEVICE_CLASS].status == HTTPStatus.NOT_FOUND:
        del unread[DEVICE_CLASS]  # a cluster that serves none has none
    inventory = inventory_of(found, unread)
    try:
        version = str(VersionApi(client).get_code(_request_timeout=TIMEOUT_S).git_version)
    except (ApiException, HTTPError):
        version = ""
    return replace(inventory, version=version or inventory.version)


def list_kinds(
    objects: Objects,
    needed: Sequence[str],
    further: Iterable[str],
    versions: Mapping[str, str],
    keep: Callable[[Manifest], Manifest],
) -> tuple[list[Manifest], dict[str, ApiRefusedError]]:
    """Return the objects of the kinds, and which further kinds are not listed, and why.

    Raises a StowageError if no API server answers, or a needed kind may not be listed.
    """
    found, unread = list[Manifest](), dict[str, ApiRefusedError]()
    for kind in (*needed, *further):
        try:
            found += map(keep, objects.each(versions.get(kind, kind)))
        except ApiUnreachableError as error:
            raise _gone(error.cause) from error
        except ApiRefusedError as error:
            if error.status not in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
                raise _gone(f"{error.status}: {error.body}") from error
            if kind in needed:
                if kind not in ("Node", "Pod"):
                    raise
                raise StowageError(
                    f"the API server lets nobody list {kind} ({error.status}: "
                    f"{error.body}); what-if needs a ClusterRole with the verb list on "
                    "nodes, pods and poddisruptionbudgets, and writes nothing"
                ) from error
            unread[kind] = error
    return found, unread


def _gone(why: str) -> StowageError:
    return StowageError(
        f"the API server does not answer ({why}); try: kubectl get nodes, or give the objects as files with --file"
    )


def read_files(paths: Sequence[Path]) -> Inventory:
    """Return the inventory of the files' objects.

    It says what kinds are missing. Raises an InputError if a file holds no JSON objects, or there are no nodes or no
    pods.
    """
    left_out = list[Remark]()
    objects = [one for path in paths for one in read_list(path, left_out)]
    there = {one["kind"] for one in objects}
    inventory = inventory_of(objects, [kind for kind in FURTHER if kind not in there], left_out)
    words = {FURTHER["PodDisruptionBudget"]: NO_BUDGETS}
    return replace(inventory, unread=tuple(words.get(one, one) for one in inventory.unread))


class _Document(msgspec.Struct):
    """An object, or a list of objects that are still to be parsed."""

    apiVersion: str = ""  # noqa: N815 - the name in the file
    kind: str = ""
    items: list[msgspec.Raw] | None = None


def read_list(path: Path, left_out: list[Remark], keep: Callable[[Manifest], Manifest] = reduced) -> Iterator[Manifest]:
    """Yield what ``keep`` returns of each object of a file.

    ``left_out`` takes what is none. Raises an InputError if the file holds no JSON objects.
    """

    def flat(content: bytes | msgspec.Raw, document: _Document) -> Iterator[Manifest]:
        if document.items is None:
            header = {"kind": document.kind, "apiVersion": document.apiVersion or "v1"}
            yield keep({**msgspec.json.decode(content), **header})
            return
        # Of lists within lists, each object is parsed in turn: a large list at once takes hundreds of megabytes.
        for place, item in enumerate(document.items, 1):
            try:
                part = msgspec.json.decode(item, type=_Document)
                # The items of a typed list do not say what they are.
                part.kind = part.kind or document.kind.removesuffix("List")
                part.apiVersion = part.apiVersion or document.apiVersion
                yield from flat(item, part)
            except msgspec.DecodeError as error:
                left_out.append(Remark(f"item {place} of {path.name}", f"is no Kubernetes object: {error}"))

    try:
        content = to_utf8(path.read_bytes())
        document = msgspec.json.decode(content, type=_Document)
    except OSError as error:
        raise _no_list(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _no_list(path, f"is no text ({error})") from error
    except msgspec.ValidationError as error:
        raise _no_list(path, "holds no Kubernetes objects") from error
    except msgspec.DecodeError as error:
        raise _no_list(path, f"is not JSON ({error})") from error
    if not document.kind:
        raise _no_list(path, "holds no Kubernetes objects")
    yield from flat(content, document)


def _no_list(path: Path, why: str) -> InputError:
    return InputError(f"{path}: {why}; make it with: kubectl get nodes,pods,pdb -A -o json")
