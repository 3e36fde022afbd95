"""`stowage plan`, and the PackingPlans of any cluster: read, create, approve, abort and follow them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.kinds import KindMissingError
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import Clock, SystemClock
from stowage_testbed.cli.main import FAILED, app
from stowage_testbed.cli.options import ClusterChoice, with_option_groups
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.plan import BROKEN_PHASES, FINISHED_PHASES, ending, phase_of, progress

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

plan_app = typer.Typer(name="plan", help="Approve or abort the scheduler's plans.", no_args_is_help=True)
app.add_typer(plan_app)

Name = Annotated[str, typer.Argument(help="The plan's name.")]

KIND = "PackingPlan"

LOOK_S = 1.0
TAKEN_UP_S = 60.0
"""Deadline for the release to take a plan up."""

_CREATE = "create a plan"
_NO_PLANS = "this cluster has no PackingPlans: install the chart first (helm install stowage charts/stowage)"


@plan_app.command()
@with_option_groups
def approve(name: Name, *, which: ClusterChoice) -> None:
    """Execute a proposed plan as it is, if it still fits the cluster."""
    with which.new_client() as client:
        PlanApi(client).approve(name)
    typer.echo(f"plan {name} is approved; follow it with: kubectl get packingplan {name} -w")


@plan_app.command()
@with_option_groups
def abort(name: Name, *, which: ClusterChoice) -> None:
    """Abort a plan; pods that were moved already stay where they are."""
    with which.new_client() as client:
        PlanApi(client).abort(name)
    typer.echo(f"plan {name} is given up")


class PlanApi:
    """The PackingPlans of one cluster; methods raise a StowageError if the API server refuses or does not answer."""

    def __init__(self, client: ApiClient) -> None:
        self._objects = Objects(client)

    def plan(self, name: str) -> JsonObject:
        """Return the plan of that name."""
        with _refusals(f"read plan {name}", name):
            return self._objects.read(KIND, name)

    def create(self, prefix: str, spec: Mapping[str, Any]) -> str:
        """Ask for a plan, and return the name that it got."""
        manifest = {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": KIND,
            "metadata": {"generateName": prefix},
            "spec": dict(spec),
        }
        with _refusals(_CREATE):
            # Strict: a field that the release ignores might be the one that keeps pods where they are.
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
        with _refusals(f"change plan {name}", name):
            self._objects.patch(KIND, name, change)


def carry_out(plans: PlanApi, spec: Mapping[str, Any]) -> None:
    """Have the release make a plan, follow it, and say what became of it, or raise a StowageError."""
    name = plans.create("defragment-", spec)
    typer.echo(f"plan {name} is asked for; to give it up: stowage plan abort {name}")
    plan = follow(lambda: plans.plan(name), typer.echo)
    typer.echo("\n".join(ending(plan)))
    if phase_of(plan) in BROKEN_PHASES:
        raise typer.Exit(FAILED)


def follow(look: Callable[[], JsonObject], say: Callable[[str], None], clock: Clock | None = None) -> JsonObject:
    """Return a plan that has ended or waits for approval, or raise a StowageError if no release takes it up."""
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
def _refusals(what: str, name: str = "") -> Iterator[None]:
    """Say what a refusal means for plans, or for the one of that name."""
    try:
        yield
    except ApiRefusedError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            missing = f"there is no PackingPlan called {name!r}; list them with: kubectl get packingplans"
            raise StowageError(missing if name and not isinstance(error, KindMissingError) else _NO_PLANS) from error
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


def _wrong_phase(name: str, phase: str, wanted: str) -> StowageError:
    return StowageError(f"plan {name} is {phase or 'not taken up yet'}, {wanted}")
