"""What the viewer may do with plans, as the API server itself answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowage_testbed.api.client import ask
from stowage_testbed.api.kinds import OURS

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_REVIEW = "authorization.k8s.io/v1"


def may_change_plans(api: ApiClient) -> bool:
    """Return whether who is asked as may patch PackingPlans.

    Raises
    ------
    ApiRefusedError, ApiUnreachableError
        The server does not say.
    """
    review = {
        "apiVersion": _REVIEW,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": OURS, "resource": "packingplans", "verb": "patch"}},
    }
    path = f"/apis/{_REVIEW}/selfsubjectaccessreviews"
    answer = ask(api, "POST", path, "tell what you may do with plans", review)
    return bool((answer.get("status") or {}).get("allowed"))
