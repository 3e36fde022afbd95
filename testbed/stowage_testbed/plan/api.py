"""Reading and changing PackingPlans over the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from stowage_testbed.errors import StowageError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import FINISHED_PHASES
from stowage_testbed.plan.errors import (
    ClusterSilentError,
    PlanKindMissingError,
    PlanMissingError,
    PlanPhaseError,
    PlanRefusedError,
)

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, CustomObjectsApi

GROUP, VERSION, PLURAL = "stowage.dev", "v1alpha1", "packingplans"


class PlanApi:
    """The PackingPlans of one cluster.

    Every method raises `PlanRefusedError` where the API server does not allow what it
    asks for, and `ClusterSilentError` where there is no answer.

    Parameters
    ----------
    client
        A client of the cluster's API; the caller closes it.
    """

    def __init__(self, client: ApiClient) -> None:
        from kubernetes.client import (  # noqa: PLC0415 - it takes long to import
            CustomObjectsApi,
        )

        self._api: CustomObjectsApi = CustomObjectsApi(client)

    def plan(self, name: str | None = None) -> JsonObject:
        """Return the plan of that name, or the newest.

        Raises
        ------
        PlanMissingError, PlanKindMissingError
            There is no such plan, or no such kind.
        """
        plans = self._plans()
        if name is not None:
            plans = [one for one in plans if one["metadata"]["name"] == name]
        if not plans:
            raise PlanMissingError(name)
        return max(plans, key=_age)

    def approve(self, name: str) -> None:
        """Have a proposed plan carried out as it is.

        Raises
        ------
        PlanPhaseError
            The plan is no proposal.
        """
        phase = _phase(self.plan(name))
        if phase != "Proposed":
            raise PlanPhaseError(name, phase, "and only a proposal can be approved")
        self._patch(name, {"spec": {"mode": "Execute"}})

    def abort(self, name: str) -> None:
        """Give a plan up; what was moved already stays where it is.

        Raises
        ------
        PlanPhaseError
            The plan has ended.
        """
        phase = _phase(self.plan(name))
        if phase in FINISHED_PHASES:
            raise PlanPhaseError(name, phase, "so there is nothing to give up")
        self._patch(name, {"spec": {"abort": True}})

    def _plans(self) -> list[JsonObject]:
        with _refusals("list plans", missing=PlanKindMissingError()):
            found: Any = self._api.list_cluster_custom_object(GROUP, VERSION, PLURAL)
        return list(found["items"])

    def _patch(self, name: str, change: dict[str, Any]) -> None:
        with _refusals(f"change plan {name}", missing=PlanMissingError(name)):
            self._api.patch_cluster_custom_object(GROUP, VERSION, PLURAL, name, change)


@contextmanager
def _refusals(what: str, *, missing: StowageError) -> Iterator[None]:
    """Raise the client's errors as our own; ``missing`` if there is no such thing."""
    from kubernetes.client import (  # noqa: PLC0415 - it takes long to import
        ApiException,
    )
    from urllib3.exceptions import (  # noqa: PLC0415 - so does this
        HTTPError,
    )

    try:
        yield
    except ApiException as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise missing from error
        raise PlanRefusedError(what, str(error.reason)) from error
    except HTTPError as error:
        raise ClusterSilentError(str(error)) from error


def _phase(plan: JsonObject) -> str:
    phase: str = (plan.get("status") or {}).get("phase", "")
    return phase


def _age(plan: JsonObject) -> tuple[str, str]:
    metadata = plan["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]
