"""One request to the API server, with its refusals as errors of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from kubernetes import client
from urllib3.exceptions import HTTPError

from stowage_testbed.run.errors import ApiRefusedError, ApiUnreachableError

HTTP_NOT_FOUND = 404
HTTP_CONFLICT = 409
_HTTP_FIRST_ERROR = 400

JSON = "application/json"


def ask(
    api: client.ApiClient,
    method: str,
    path: str,
    what: str,
    body: Any = None,
    *,
    allowed: Collection[int] = (),
    content: str = JSON,
    accept: str = JSON,
    query: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Send a request and return the answer.

    Parameters
    ----------
    what
        The request in words, as in "create Pod web".
    body
        Plain objects, or text as it is.
    allowed
        Refusals that are none; the answer is empty then.
    content, accept
        Media types of body and answer.

    Raises
    ------
    ApiRefusedError
        The server refused.
    ApiUnreachableError
        It gave no answer.
    """
    request = api.param_serialize(
        method,
        path,
        query_params=list(query),
        header_params={"Accept": accept, "Content-Type": content},
        body=body,
        auth_settings=["BearerToken"],
    )
    try:
        answer = api.call_api(*request)
        text = answer.response.data.decode()
    except (HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    if answer.status in allowed:
        return {}
    if answer.status >= _HTTP_FIRST_ERROR:
        raise ApiRefusedError(what, answer.status, text)
    made: dict[str, Any] = json.loads(text)
    return made
