"""How everything talks to a cluster's API server: client, requests, errors."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stowage_testbed.base.errors import InputError, StowageError

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Manifest = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_SHOWN = 600  # Characters of an answer that are shown


class ApiRefusedError(StowageError):
    """The API server refused a request, with a ``status`` and a ``body``."""

    def __init__(self, what: str, status: int, body: str) -> None:
        self.status, self.body = status, body
        super().__init__(f"the API server refused to {what} with {status}: {_read_message(body)}")


def _read_message(body: str) -> str:
    """Return what an answer says to people: of a Status the message and its causes."""
    try:
        status = json.loads(body)
        causes = (status.get("details") or {}).get("causes") or ()
        said = [status["message"], *(one["message"] for one in causes)]
    except (ValueError, TypeError, KeyError, AttributeError):
        said = [body.strip()]
    # A cause is mostly part of the message already.
    words = [one for at, one in enumerate(said) if not at or one not in said[0]]
    return " ".join(words)[:_SHOWN]


class ApiUnreachableError(StowageError):
    """The API server gave no answer; ``cause`` is what came instead."""

    def __init__(self, what: str, cause: str) -> None:
        self.cause = cause
        super().__init__(
            f"no answer from the API server when asked to {what} ({cause}); "
            "the cluster has stopped: see `stowage list` and its logs"
        )


def new_api_client(kubeconfig: Path | None = None, context: str | None = None) -> ApiClient:
    """Return a new client; the caller closes it.

    Without a kubeconfig, kubectl's own choice: ``KUBECONFIG``, or the file in the home folder; without a context,
    the kubeconfig's own choice. Raises an InputError if it names no cluster, or has no such context.
    """
    from kubernetes import config  # noqa: PLC0415 - it takes long to import

    file = None if kubeconfig is None else str(kubeconfig)
    try:
        # The library has no annotations here, so that its call is checked by nobody.
        client: ApiClient = config.new_client_from_config(  # type: ignore[no-untyped-call]
            file, context=context
        )
    except config.ConfigException as error:
        asked = f"context {context!r}" if context else "the kubeconfig's own context"
        raise InputError(
            f"{asked} cannot be used: {error}; kubectl config get-contexts lists those that there are"
        ) from error
    return client


def send(
    api: ApiClient,
    method: str,
    path: str,
    what: str,
    body: Any = None,
    *,
    content: str = JSON,
    accept: str = JSON,
    query: Sequence[tuple[str, str]] = (),
    timeout_s: float | None = None,
) -> Any:  # urllib3's response; the client hands it on untyped
    """Send a request and return the response, of which the body is not read yet.

    ``what`` is the request in words, as in "create Pod web"; ``body`` is plain objects, or text as it is; ``content``
    and ``accept`` are media types. Raises an ApiRefusedError, or an ApiUnreachableError if no answer came.
    """
    # Whoever has a client has imported both already; `stowage --help` has not.
    from kubernetes.client import ApiException  # noqa: PLC0415
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    request = api.param_serialize(
        method,
        path,
        query_params=list(query),
        header_params={"Accept": accept, "Content-Type": content},
        body=body,
        auth_settings=["BearerToken"],
    )
    try:
        response = api.call_api(*request, _request_timeout=timeout_s).response
        if response.status < HTTPStatus.BAD_REQUEST:
            return response
        text = response.data.decode(errors="replace")
    except (ApiException, HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    raise ApiRefusedError(what, response.status, text)


def ask(
    api: ApiClient,
    method: str,
    path: str,
    what: str,
    body: Any = None,
    *,
    allowed: Collection[int] = (),
    **options: Any,
) -> dict[str, Any]:
    """Send a request as `send` does, and return the JSON object of the answer; ``allowed`` refusals are empty."""
    from urllib3.exceptions import HTTPError  # noqa: PLC0415 - as in `send`

    try:
        response = send(api, method, path, what, body, **options)
        made: dict[str, Any] = json.loads(response.data)
    except ApiRefusedError as error:
        if error.status in allowed:
            return {}
        raise
    except (HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    return made
