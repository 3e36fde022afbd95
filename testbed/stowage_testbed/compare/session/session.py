"""A whole comparison: one cluster, every arm, every round; resumable."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from kubernetes.client import AdmissionregistrationV1Api, ApiClient, ApiException, AppsV1Api
from urllib3.exceptions import HTTPError

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.bundle import BundleFolder, Key
from stowage_testbed.compare.reports import read_result
from stowage_testbed.compare.result import Result
from stowage_testbed.compare.session.beginning import begin_bundle
from stowage_testbed.compare.session.one_turn import ArmHarness, TurnListener
from stowage_testbed.compare.session.request import CompareListener, CompareRequest, Turn, make_turns
from stowage_testbed.compare.verdicts.spending import FIRST_LOOK
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_cluster
from stowage_testbed.run.stopwatch import Stopwatch

SELECTOR = "app.kubernetes.io/component=scheduler,app.kubernetes.io/managed-by=Helm"


def refuse_second_scheduler(api: ApiClient, cluster: str) -> None:
    """Return if no scheduler of a Helm release is on the cluster.

    Raises
    ------
    InputError
        There is one.
    """
    apps: Any = AppsV1Api(api)
    found = apps.list_deployment_for_all_namespaces(label_selector=SELECTOR).items
    if found:
        release = f"{found[0].metadata.namespace}/{found[0].metadata.name}"
        raise InputError(
            f"cluster {cluster} has the scheduler {release}, which would place pods of "
            "the arms; `helm uninstall` it, or leave --cluster out to compare on a "
            "cluster of its own"
        )


def list_webhooks(api: ApiClient) -> tuple[str, ...]:
    """Return the webhooks on a cluster, each as ``configuration/webhook``, sorted."""
    admission: Any = AdmissionregistrationV1Api(api)
    configurations = [
        *admission.list_mutating_webhook_configuration().items,
        *admission.list_validating_webhook_configuration().items,
    ]
    return tuple(
        sorted(f"{one.metadata.name}/{webhook.name}" for one in configurations for webhook in one.webhooks or ())
    )


def compare(request: CompareRequest, listener: CompareListener, clock: Clock | None = None) -> Result:
    """Run a comparison, or resume one, and return its result.

    Rounds of which every run is in the folder are not made again; one with a run that
    failed is.
    """
    bundle = begin_bundle(request)
    todo = list_turns(request, bundle, listener, clock or SystemClock())
    total = None
    if request.time_s is None:
        known = list(todo)
        todo, total = iter(known), len(known)
    first = next(todo, None)
    if first is not None:
        listener.turns_planned(total)
        with ExitStack() as stack:
            contexts = {
                minor: stack.enter_context(_open_context(request, minor, listener))
                for minor in sorted({arm.minor for arm in request.arms})
            }
            _run_all(request, contexts, bundle, chain([first], todo), listener)
    result = read_result(request.folder)
    bundle.finish(result.verdicts)
    return replace(result, complete=True)


def list_turns(
    request: CompareRequest, bundle: BundleFolder, listener: CompareListener, clock: Clock
) -> Iterator[Turn]:
    """Yield the turns that are left, round by round.

    Where each round is looked at, none begins once every headline is decided or the
    time is over.
    """
    names = [arm.name for arm in request.arms]
    begin_s, time_s = clock.now(), request.time_s
    rounds = request.rounds if time_s is None else None
    turns = make_turns(list(request.limits), names, rounds, request.seed)
    for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
        left = select_remaining(list(of_round), bundle.done)
        if not left:
            continue
        if time_s is not None:
            if number > 1 and _is_decided(request, listener):
                return
            if clock.now() - begin_s >= time_s:
                return
            bundle.extend(number)
        yield from left


def _is_decided(request: CompareRequest, listener: CompareListener) -> bool:
    result = read_result(request.folder)
    listener.round_judged(result)
    made = max(run.round_number for run in result.runs)
    # Whose runs have failed so far will not be waited for.
    return made >= FIRST_LOOK and all(
        not one.rounds or (one.rounds >= FIRST_LOOK and not one.open) for one in result.verdicts
    )


def select_remaining(turns: Sequence[Turn], done: Collection[Key]) -> list[Turn]:
    """Return the turns of every round that is not whole.

    The runs of a round are pairs: one of today and one of last week are none.
    """
    broken = {(one.limits, one.round_number) for one in turns if one.key not in done}
    return [one for one in turns if (one.limits, one.round_number) in broken]


@contextmanager
def _open_context(request: CompareRequest, minor: str, listener: CompareListener) -> Iterator[RunContext]:
    """Open a cluster of a minor: all arms of that minor have their turns on it."""
    asked = RunRequest((request.scenario,), cluster=request.cluster, folders=(request.folder,), minor=minor)
    with open_cluster(asked, listener, Stopwatch()) as cluster, cluster.api_client() as api, Observer(api) as observer:
        _look_around(api, cluster.name, listener)
        yield RunContext(cluster, api, observer, tag=secrets.token_hex(2), lasting=request.cluster is not None)


def _look_around(api: ApiClient, cluster: str, listener: CompareListener) -> None:
    """Refuse a second scheduler, and report what delays every arm alike."""
    try:
        refuse_second_scheduler(api, cluster)
        webhooks = list_webhooks(api)
    except (ApiException, HTTPError) as error:
        raise ApiUnreachableError("list what is there", str(error)) from error
    for name in webhooks:
        listener.run_progress(f"every arm's pods pass through the webhook {name}")


def _run_all(
    request: CompareRequest,
    contexts: Mapping[str, RunContext],
    bundle: BundleFolder,
    todo: Iterator[Turn],
    listener: CompareListener,
) -> None:
    arms = request.arms_by_name
    kept: set[tuple[str, str]] = set()
    for number, turn in enumerate(todo, 1):
        listener.turn_started(turn)

        def keep(record: RunRecord, configuration: str, turn: Turn = turn) -> None:
            bundle.add(record)
            if configuration and (turn.limits, turn.arm) not in kept:
                bundle.add_configuration(turn.limits, turn.arm, configuration)
                kept.add((turn.limits, turn.arm))
            listener.turn_finished(turn, record)

        arm = arms[turn.arm]
        context = contexts[arm.minor]
        harness = ArmHarness(
            context,
            arm,
            request.limits[turn.limits],  # type: ignore[index]
            request.folder / "logs" / turn.folder,
            request.warm_up,
        )
        taker = TurnListener(listener, turn, harness, keep, warm=request.warm_up > 0)
        # Namespaces outlive a run by seconds, so that each has a number of its own.
        outcome = run_scenario(context, request.scenario, number, taker, harness)
        if outcome.skipped:
            taker.keep(outcome)
