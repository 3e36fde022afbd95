"""PackingPlans of any cluster: read, create, approve, abort and follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import typer

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli.main import FAILED
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import BROKEN_PHASES, FINISHED_PHASES, ending, phase_of, progress

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

KIND = "PackingPlan"

LOOK_S, TAKEN_UP_S = 1.0, 60.0
"""Seconds between two looks at a plan, and until somebody must have taken it up."""

_CREATE = "create a plan"
_NO_PLANS = "this cluster has no PackingPlans: install the chart first (helm install stowage charts/stowage)"


class PlanApi:
    """The PackingPlans of one cluster.

    Every method raises `StowageError` where the API server does not allow what it asks
    for, and where there is no answer. The caller closes the client.
    """

    def __init__(self, client: ApiClient) -> None:
        self._objects = Objects(client)

    def plan(self, name: str | None = None) -> JsonObject:
        """Return the plan of that name, or the newest."""
        plans = [one for one in self.plans() if name in (None, one["metadata"]["name"])]
        if not plans:
            raise StowageError(_missing(name))
        return plans[0]

    def plans(self) -> list[JsonObject]:
        """Return all plans, the newest first."""
        with _refusals("list plans", missing=_NO_PLANS):
            return sorted(self._objects.list_all(KIND), key=_age, reverse=True)

    def create(self, prefix: str, spec: Mapping[str, Any]) -> str:
        """Ask for a plan, and return the name that it got.

        The release must know all that is asked for: a field that it passes over might
        be the one that keeps pods where they are.
        """
        manifest = {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": KIND,
            "metadata": {"generateName": prefix},
            "spec": dict(spec),
        }
        with _refusals(_CREATE, missing=_NO_PLANS):
            return str(self._objects.create(manifest, strict=True)["metadata"]["name"])

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
        with _refusals(f"change plan {name}", missing=_missing(name)):
            self._objects.patch(KIND, name, change)


def carry_out(plans: PlanApi, spec: Mapping[str, Any]) -> None:
    """Have the release make a plan, follow it, and say what became of it.

    Raises
    ------
    StowageError
        It cannot be asked for, or nobody takes it up.
    """
    name = plans.create("defragment-", spec)
    typer.echo(f"plan {name} is asked for; to give it up: stowage plan abort {name}")
    plan = follow(lambda: plans.plan(name), typer.echo)
    typer.echo("\n".join(ending(plan)))
    if phase_of(plan) in BROKEN_PHASES:
        raise typer.Exit(FAILED)


def follow(look: Callable[[], JsonObject], say: Callable[[str], None], clock: Clock | None = None) -> JsonObject:
    """Return a plan when it has ended, or waits for approval; say how far it comes.

    Raises
    ------
    StowageError
        Nobody takes it up.
    """
    clock = clock or SystemClock()
    began, said = clock.now(), ""
    while True:
        plan = look()
        if (line := progress(plan)) != said:
            say(line)
            said = line
        phase, name = phase_of(plan), plan["metadata"]["name"]
        executes = (plan.get("spec") or {}).get("executionMode") == "Execute"
        if phase in FINISHED_PHASES or (phase == "Proposed" and not executes):
            return plan
        if not phase and clock.now() - began >= TAKEN_UP_S:
            raise StowageError(
                f"nobody has taken up plan {name} within {TAKEN_UP_S:g} s: see whether "
                "the release runs, with kubectl get pods -n stowage-system; to take it "
                f"back: kubectl delete packingplan {name}"
            )
        clock.pause(LOOK_S)


@contextmanager
def _refusals(what: str, *, missing: str) -> Iterator[None]:
    """Say what a refusal means for plans; ``missing`` if there is no such thing."""
    try:
        yield
    except ApiRefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            raise StowageError(missing) from error
        if error.status == HTTPStatus.BAD_REQUEST and what == _CREATE:
            raise StowageError(
                f"the PackingPlans of this cluster are of another version "
                f"({error}); Helm leaves definitions as they are: helm show crds "
                "CHART | kubectl apply --server-side --force-conflicts -f -, then "
                "helm upgrade"
            ) from error
        raise StowageError(f"the API server refuses to {what}: {HTTPStatus(error.status).phrase}") from error
    except ApiUnreachableError as error:
        raise StowageError(
            f"the cluster does not answer: {error.cause}; see whether it is up, and "
            "whether the kubeconfig names the right one"
        ) from error


def _missing(name: str | None) -> str:
    called = "" if name is None else f" called {name!r}"
    return f"there is no PackingPlan{called}; list them with: kubectl get packingplans"


def _wrong_phase(name: str, phase: str, wanted: str) -> StowageError:
    return StowageError(f"plan {name} is {phase or 'not taken up yet'}, {wanted}")


def _age(plan: JsonObject) -> tuple[str, str]:
    metadata = plan["metadata"]
    return metadata.get("creationTimestamp", ""), metadata["name"]
