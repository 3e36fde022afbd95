"""PackingPlans of any cluster: read them, create, approve and abort them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.emptied_nodes import phase_of
from stowage_testbed.observe.plan import FINISHED_PHASES

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

KIND = "PackingPlan"


class PlanMissingError(StowageError):
    """There is no such plan."""

    def __init__(self, name: str | None) -> None:
        which = "no PackingPlan" if name is None else f"no PackingPlan called {name!r}"
        super().__init__(f"there is {which}; list them with: kubectl get packingplans")


_NO_PLANS = StowageError(
    "this cluster has no PackingPlans: install the chart first (helm install stowage charts/stowage)"
)


class PlanApi:
    """The PackingPlans of one cluster.

    Every method raises `StowageError` where the API server does not allow what it asks
    for, and where there is no answer. The caller closes the client.
    """

    def __init__(self, client: ApiClient) -> None:
        self._objects = Objects(client)

    def plan(self, name: str | None = None) -> JsonObject:
        """Return the plan of that name, or the newest.

        Raises
        ------
        PlanMissingError
            There is no such plan.
        """
        plans = self.plans()
        if name is not None:
            plans = [one for one in plans if one["metadata"]["name"] == name]
        if not plans:
            raise PlanMissingError(name)
        return plans[0]

    def plans(self) -> list[JsonObject]:
        """Return all plans, the newest first."""
        with _refusals("list plans", missing=_NO_PLANS):
            return sorted(self._objects.list_all(KIND), key=_age, reverse=True)

    def create(self, prefix: str, spec: dict[str, Any]) -> str:
        """Ask for a plan, and return the name that it got.

        The release must know all that is asked for: a field that it passes over might
        be the one that keeps pods where they are.
        """
        manifest = {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": KIND,
            "metadata": {"generateName": prefix},
            "spec": spec,
        }
        with _refusals("create a plan", missing=_NO_PLANS):
            try:
                made = self._objects.create(manifest, strict=True)
            except ApiRefusedError as error:
                if error.status != HTTPStatus.BAD_REQUEST:
                    raise
                raise StowageError(
                    f"the PackingPlans of this cluster are of another version "
                    f"({error}); Helm leaves definitions as they are: helm show crds "
                    "CHART | kubectl apply --server-side --force-conflicts -f -, then "
                    "helm upgrade"
                ) from error
        name: str = made["metadata"]["name"]
        return name

    def approve(self, name: str) -> None:
        """Have a proposed plan carried out as it is; raises if it is no proposal."""
        phase = phase_of(self.plan(name))
        if phase != "Proposed":
            raise _wrong_phase(name, phase, "and only a proposal can be approved")
        self._patch(name, {"spec": {"executionMode": "Execute"}})

    def abort(self, name: str) -> None:
        """Give a plan up, unless it has ended; what was moved stays where it is."""
        phase = phase_of(self.plan(name))
        if phase in FINISHED_PHASES:
            raise _wrong_phase(name, phase, "so there is nothing to give up")
        self._patch(name, {"spec": {"abort": True}})

    def _patch(self, name: str, change: dict[str, Any]) -> None:
        with _refusals(f"change plan {name}", missing=PlanMissingError(name)):
            self._objects.patch(KIND, name, change)


@contextmanager
def _refusals(what: str, *, missing: StowageError) -> Iterator[None]:
    """Say what a refusal means for plans; ``missing`` if there is no such thing."""
    try:
        yield
    except ApiRefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise missing from error
        cause = HTTPStatus(error.status).phrase
        raise StowageError(f"the API server refuses to {what}: {cause}") from error
    except ApiUnreachableError as error:
        raise StowageError(
            f"the cluster does not answer: {error.cause}; see whether it is up, and "
            "whether the kubeconfig names the right one"
        ) from error


def _wrong_phase(name: str, phase: str, wanted: str) -> StowageError:
    return StowageError(f"plan {name} is {phase or 'not taken up yet'}, {wanted}")


def _age(plan: JsonObject) -> tuple[str, str]:
    metadata = plan["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]
