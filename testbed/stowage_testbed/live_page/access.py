"""The cluster behind a page: what is watched there, and what the viewer may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from stowage_testbed.api_client import ApiRefusedError, ApiUnreachableError, ask
from stowage_testbed.errors import StowageError
from stowage_testbed.live_page.feed import SOURCES, unanswered
from stowage_testbed.observe.observer import Observer

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

PATIENCE_S = 5.0
"""How long the API server may be away before the page says so."""

ANSWER_S = 5.0
"""How long it may take to answer a small question."""

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
CHANGES_PLANS = {"group": "stowage.dev", "resource": "packingplans", "verb": "patch"}


@contextmanager
def watching(api: ApiClient) -> Iterator[Observer]:
    """Yield watches of nodes and pods.

    Raises
    ------
    StowageError
        There is no answer, or the viewer may not list them.
    """
    with ExitStack() as stack:
        try:
            # A list may take long, and so has no limit of its own.
            ask(api, "GET", "/version", "tell its version", timeout_s=ANSWER_S)
            observer = stack.enter_context(
                Observer(api, SOURCES, patience_s=PATIENCE_S)
            )
        except ApiUnreachableError as error:
            raise unanswered(error.cause) from error
        except ApiRefusedError as error:
            raise StowageError(
                f"{error}; the page needs a ClusterRole with the verbs list and watch "
                "on nodes and pods, and writes nothing"
            ) from error
        yield observer


def may_change_plans(api: ApiClient) -> bool:
    """Ask the API server whether the viewer may approve plans and give them up."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": CHANGES_PLANS},
    }
    try:
        answer = ask(api, "POST", REVIEWS, "review the viewer's own rights", review)
    except StowageError:
        # The watches say what is wrong with the server.
        return False
    return bool((answer.get("status") or {}).get("allowed"))
