"""A cluster from its API server: nothing but lists is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

from kubernetes import config
from kubernetes.client import ApiClient, ApiException
from urllib3.exceptions import HTTPError

from stowage_testbed.api_client import new_api_client
from stowage_testbed.whatif.errors import (
    ApiServerGoneError,
    NoContextError,
    ReadingRefusedError,
)
from stowage_testbed.whatif.inventory import Inventory, Manifest, inventory_of
from stowage_testbed.whatif.kinds import FURTHER, NODE, POD, Kind

PAGE = 500
"""Objects in one answer: a large cluster is read without a burden on its server."""

TIMEOUT_S = 30
UNAVAILABLE = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})


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
    NoContextError, ApiServerGoneError
        There is no such context, or no API server answers.
    ReadingRefusedError
        Nodes or pods may not be listed.
    """
    try:
        client = new_api_client(kubeconfig, context)
    except config.ConfigException as error:
        raise NoContextError(context, str(error)) from error
    with client:
        return read_api(client)


def read_api(client: ApiClient) -> Inventory:
    """Return what the API server of a client holds; as `read_context` raises."""
    objects: list[Manifest] = []
    unread = []
    for kind in (NODE, POD, *FURTHER):
        try:
            objects += _listed(client, kind)
        except _NotListedError as error:
            if not kind.without:
                raise ReadingRefusedError([kind.name], str(error)) from error
            unread.append(kind.without)
    return inventory_of(objects, unread)


class _NotListedError(Exception):
    """The API server refuses, or does not know the kind."""


def _listed(client: ApiClient, kind: Kind) -> Iterator[Manifest]:
    token = ""
    while True:
        page = _page(client, kind, token)
        for item in page["items"]:
            yield {"apiVersion": kind.api_version, "kind": kind.name, **item}
        token = page["metadata"].get("continue", "")
        if not token:
            return


def _page(client: ApiClient, kind: Kind, token: str) -> dict[str, Any]:
    query = [("limit", str(PAGE))] + ([("continue", token)] if token else [])
    request = client.param_serialize(
        "GET",
        kind.path,
        query_params=query,
        header_params={"Accept": "application/json"},
        auth_settings=["BearerToken"],
    )
    try:
        answer = client.call_api(*request, _request_timeout=TIMEOUT_S).response
        status, text = int(answer.status), answer.read().decode(errors="replace")
    except (ApiException, HTTPError) as error:
        raise ApiServerGoneError(str(error)) from error
    if status in UNAVAILABLE:
        raise _NotListedError(f"{status}: {text}")
    if status != HTTPStatus.OK:
        raise ApiServerGoneError(f"{status}: {text}")
    found: dict[str, Any] = json.loads(text)
    return found
