"""PackingPlans of any cluster, for people: look at them, approve them, give them up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.emptied_nodes import (
    consolidation_of,
    nodes_of,
    objective_of,
    phase_of,
    summary,
    told_price,
)
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


def table_of(plans: Sequence[JsonObject]) -> str:
    """Return a line for each plan, or that there is none."""
    if not plans:
        return "there is no plan; ask for one with: kubectl create of a PackingPlan"
    return tabulate([_row(plan) for plan in plans], headers=_PLAN_COLUMNS, disable_numparse=True)


_PLAN_COLUMNS = (
    "plan", "created", "phase", "mode", "objective", "places", "moves", "evicts",
    "empties", "saves", "optimal",
)  # fmt: skip


def _row(plan: JsonObject) -> tuple[str, ...]:
    status, metadata = plan.get("status") or {}, plan["metadata"]
    counts = (len(status.get(field) or ()) for field in ("placements", "moves", "evictions"))
    return (
        metadata["name"],
        metadata.get("creationTimestamp", ""),
        phase_of(plan) or "not taken up yet",
        (plan.get("spec") or {}).get("executionMode", "DryRun"),
        objective_of(plan),
        *map(str, counts),
        str(len(nodes_of(plan)) or ""),
        told_price(consolidation_of(plan).get("hourlySaving", "")),
        "yes" if status.get("optimal") else "no",
    )


def page_of(plan: JsonObject) -> str:
    """Return all that is known of a PackingPlan, in the order in which it happens."""
    return "\n".join(_lines(plan))


def _lines(plan: JsonObject) -> Iterator[str]:
    status = plan.get("status") or {}
    spec = plan.get("spec") or {}
    yield (
        f"{plan['metadata']['name']}: {status.get('phase') or 'not taken up yet'} "
        f"({spec.get('executionMode', 'DryRun')}, {spec.get('trigger', 'Manual')})"
    )
    if status.get("message"):
        yield f"  {status['message']}"
    if status.get("endReason"):
        proof = "proved optimal" if status.get("optimal") else "not proved optimal"
        yield (
            f"  {status.get('strategy', '')} ended with {status['endReason']} after "
            f"{float(status.get('solveSeconds') or 0):.2f} s, {proof}"
        )
    yield from summary(plan)
    yield from _section("conditions", _conditions(status), ("type", "holds", "why"))
    yield from _section(
        "pods by priority", _tiers(status), ("priority and above", "placed before", "placed", "bound", "optimal")
    )
    yield from _section("nodes to empty", _emptied(plan), ("node", "an hour", "moves", "gain", "state", "why"))
    yield from _section("steps", _steps(status), ("what", "pod", "from", "to", "state"))
    yield from _section("kept where they are", _protected(status), ("rule", "pods", "for example", "in the way of"))
    yield from _section("turned down", _reasons(status, "objections"), _REASONS)
    yield from _section("left alone", _reasons(status, "refusals"), _REASONS)


_REASONS = ("pod", "reason", "detail")

Row = tuple[object, ...]


def _section(title: str, rows: Iterable[Row], headers: tuple[str, ...]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield ""
        yield f"{title}:"
        yield tabulate(found, headers=headers, disable_numparse=True)


def _conditions(status: JsonObject) -> Iterator[Row]:
    for one in status.get("conditions") or []:
        why = one.get("reason", "")
        if one.get("message"):
            why = f"{why}: {one['message']}"
        yield one["type"], one["status"], why


def _tiers(status: JsonObject) -> Iterator[Row]:
    for tier in status.get("tiers") or []:
        yield (
            tier.get("priority", 0),
            tier.get("placedBefore", 0),
            tier.get("placed", 0),
            tier.get("upperBound", 0),
            "yes" if tier.get("optimal") else "no",
        )


def _steps(status: JsonObject) -> Iterator[Row]:
    for one in status.get("evictions") or []:
        yield "evict", one["pod"], one["node"], "", one.get("state", "")
    for one in status.get("moves") or []:
        yield "move", one["pod"], one["fromNode"], one["toNode"], one.get("state", "")
    for one in status.get("placements") or []:
        yield "place", one["pod"], "", one["node"], ""


def _emptied(plan: JsonObject) -> Iterator[Row]:
    for one in nodes_of(plan):
        price = told_price(one.get("hourlyPrice", ""))
        further = ("moves", "gain", "state", "message")
        yield one["name"], price, *(one.get(field, "") for field in further)


def _protected(status: JsonObject) -> Iterator[Row]:
    for one in status.get("protected") or []:
        waiting = int(one.get("inTheWayOf") or 0)
        stopped = f"{waiting} waiting pod{'s' * (waiting != 1)}" if waiting else ""
        yield one["reason"], one["pods"], one["example"], stopped


def _reasons(status: JsonObject, field: str) -> Iterator[Row]:
    for one in status.get(field) or []:
        yield one["subject"], one["reason"], one.get("detail", "")
