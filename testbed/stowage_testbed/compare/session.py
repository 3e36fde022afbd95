"""A whole comparison: one cluster, every arm, every round; resumable. `compare` runs it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from typing import Any

from kubernetes.client import AdmissionregistrationV1Api, ApiClient, ApiException, AppsV1Api
from urllib3.exceptions import HTTPError

from stowage_testbed.api.client import ApiUnreachableError
from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.bundle import Bundle, BundleMissingError, Key
from stowage_testbed.compare.comparison import ArmEntry, Comparison, PreflightRow, ScenarioText
from stowage_testbed.compare.request import CompareListener, CompareRequest, Turn, make_turns
from stowage_testbed.compare.speed import measure_speed
from stowage_testbed.compare.turn import ArmHarness, TurnListener
from stowage_testbed.compare.verdicts import FIRST_LOOK, Question
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.observer import Observer
from stowage_testbed.run.arm import Arm, ArmSettings, ClientLimits
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_cluster
from stowage_testbed.run.stopwatch import Stopwatch
from stowage_testbed.scenario.model import choose_headlines
from stowage_testbed.toolchain.environment import environment
from stowage_testbed.toolchain.minors import find_minor

SELECTOR = "app.kubernetes.io/component=scheduler,app.kubernetes.io/managed-by=Helm"
NOT_APPLICABLE = "-"


def compare(request: CompareRequest, listener: CompareListener, clock: Clock | None = None) -> Comparison:
    """Run a comparison, or resume one, and return it with its verdicts; runs that failed are made again."""
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
                minor: stack.enter_context(_open_for_arms(request, minor, listener))
                for minor in sorted({arm.minor for arm in request.arms})
            }
            for number, turn in enumerate(chain([first], todo), 1):
                _run_turn(request, contexts, bundle, listener, number, turn)
    return bundle.finish()


def begin_bundle(request: CompareRequest) -> Bundle:
    """Return the folder of this comparison, new or resumed.

    An `InputError` if the scenario has no measured window, the arms differ in more than placement and that was not
    allowed, or the folder holds another comparison.
    """
    if not request.scenario.is_measured:
        raise InputError(
            f"{request.scenario.scenario_id} measures nothing: it needs `steps` with "
            "`measure: start` and `measure: stop`, as "
            "scenarios/burst/deployment-200.yaml has them"
        )
    asked = _make_comparison(request, check_arms(request))
    try:
        bundle = Bundle.resume(request.folder)
    except BundleMissingError:
        # It takes a second, and one that is resumed has it.
        return Bundle.create(request.folder, replace(asked, speed=measure_speed()))
    differs = [word for word, of in _SAME.items() if of(bundle.comparison) != of(asked)]
    if differs:
        raise InputError(
            f"{request.folder} holds another comparison ({' and '.join(differs)} "
            "differ); name another folder with --results, or remove it"
        )
    bundle.extend(asked.rounds)
    return bundle


_SAME: Mapping[str, Callable[[Comparison], object]] = {
    "scenarios": lambda one: one.scenario.sha256,
    "parameters": lambda one: one.scenario.parameters,
    "arms": lambda one: one.arm_names,
    "settings of the arms": lambda one: [arm.settings for arm in one.arms],
    "builds of the arms": lambda one: [arm.build for arm in one.arms],
    "limits": lambda one: one.limits,
    "seeds": lambda one: one.seed,
    "pods for warming up": lambda one: one.warm_up,
    "headlines or looks at the rounds": lambda one: one.question,
}
"""What runs must have in common to be rounds of one comparison."""


def check_arms(request: CompareRequest) -> tuple[PreflightRow, ...]:
    """Return what the arms differ in; an `InputError` if they differ in what decides, and that was not allowed."""
    rows: list[PreflightRow] = []
    for kind, limits in request.limits.items():
        found = compare_settings({arm.name: _settings_of(arm, limits) for arm in request.arms}, kind)
        if (why := explain_refusal(found)) and not request.allow_unfair:
            raise InputError(why)
        rows += found
    return tuple(rows)


def compare_settings(settings: Mapping[str, ArmSettings], limits: str = "own") -> tuple[PreflightRow, ...]:
    """Return what the arms have in common and what not, before anything is started."""
    rows = []

    def add(name: str, value: Callable[[ArmSettings], str], *, decides: bool = True) -> None:
        values = {arm: value(one) for arm, one in settings.items()}
        # An arm to which a property does not apply cannot differ in it.
        stated = set(values.values()) - {NOT_APPLICABLE}
        rows.append(PreflightRow(limits, name, values, fair=len(stated) <= 1 or not decides))

    add("version", lambda one: one.version, decides=False)
    add("Kubernetes", lambda one: one.kubernetes, decides=False)
    add("client QPS", lambda one: _show_number(one.qps, "no limit"))
    add("client burst", lambda one: _show_number(one.burst, "no limit"))
    add("parallelism", lambda one: _show_number(one.parallelism, NOT_APPLICABLE))
    add("nodes scored", lambda one: "adaptive" if one.sampled_percent is None else f"{one.sampled_percent} %")
    for gate in sorted({gate for one in settings.values() for gate in one.feature_gates}):
        add(f"feature gate {gate}", partial(_show_gate, gate))
    add("webhooks", lambda one: ", ".join(sorted(one.webhooks)) or "none")
    return tuple(rows)


def explain_refusal(rows: Iterable[PreflightRow]) -> str:
    """Return why these arms are not compared; empty if they are a fair comparison."""
    listed = "\n".join(
        f"  {row.setting}: " + ", ".join(f"{arm} {value}" for arm, value in row.values.items())
        for row in rows
        if not row.fair
    )
    if not listed:
        return ""
    return (
        f"these arms differ in more than how they place pods:\n{listed}\n"
        "give all the same client limits and feature gates with --limits equal, "
        "or compare them as they are with --allow-unfair"
    )


def _show_number(value: float | None, without: str) -> str:
    return without if value is None else f"{value:g}"


def _show_gate(gate: str, settings: ArmSettings) -> str:
    return {True: "on", False: "off", None: "not told"}[settings.feature_gates.get(gate)]


def _settings_of(arm: Arm, limits: ClientLimits | None) -> ArmSettings:
    """Return how an arm will run, with the control plane that it will run on."""
    return replace(arm.settings(limits), kubernetes=find_minor(arm.minor).kubernetes)


def _make_comparison(request: CompareRequest, rows: tuple[PreflightRow, ...]) -> Comparison:
    scenario = request.scenario
    text = scenario.path.read_text("utf-8") if scenario.path else ""
    return Comparison(
        scenario=ScenarioText.of(scenario.scenario_id, text, scenario.parameters),
        started=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        baseline=request.arms[0].name,
        arms=tuple(
            ArmEntry(arm.name, {kind: _settings_of(arm, to) for kind, to in request.limits.items()}, build=arm.build())
            for arm in request.arms
        ),
        limits=tuple(request.limits),
        rounds=request.rounds if request.time_s is None else 1,
        seed=request.seed,
        environment=environment(request.arms[0].minor),
        preflight=rows,
        warm_up=request.warm_up,
        question=Question(choose_headlines(scenario), each_round=request.time_s is not None),
    )


def list_turns(request: CompareRequest, bundle: Bundle, listener: CompareListener, clock: Clock) -> Iterator[Turn]:
    """Yield the turns that are left; with ``time_s``, until every headline is decided or the time is over."""
    begin_s, time_s = clock.now(), request.time_s
    rounds = request.rounds if time_s is None else None
    turns = make_turns(list(request.limits), [arm.name for arm in request.arms], rounds, request.seed)
    for number, of_round in groupby(turns, key=lambda turn: turn.round_number):
        left = select_remaining(list(of_round), bundle.done)
        if not left:
            continue
        if time_s is not None:
            if number > 1 and _is_decided(bundle.comparison, listener):
                return
            if clock.now() - begin_s >= time_s:
                return
            bundle.extend(number)
        yield from left


def _is_decided(comparison: Comparison, listener: CompareListener) -> bool:
    listener.round_judged(comparison)
    made = max(run.round_number for run in comparison.runs)
    # Whose runs have failed so far will not be waited for.
    return made >= FIRST_LOOK and all(
        not one.rounds or (one.rounds >= FIRST_LOOK and not one.open) for one in comparison.verdicts
    )


def select_remaining(turns: Sequence[Turn], done: Collection[Key]) -> list[Turn]:
    """Return the turns of every incomplete round: the runs of a round are pairs, so all are made again."""
    broken = {(one.limits, one.round_number) for one in turns if one not in done}
    return [one for one in turns if (one.limits, one.round_number) in broken]


@contextmanager
def open_context(asked: RunRequest, listener: Listener) -> Iterator[RunContext]:
    """Open the cluster of a request, and watch it."""
    with open_cluster(asked, listener, Stopwatch()) as cluster, cluster.api_client() as api, Observer(api) as observer:
        yield RunContext(cluster, api, observer, tag=secrets.token_hex(2), lasting=asked.cluster is not None)


@contextmanager
def _open_for_arms(request: CompareRequest, minor: str, listener: CompareListener) -> Iterator[RunContext]:
    """Open a cluster of a minor: all arms of that minor have their turns on it."""
    asked = RunRequest((request.scenario,), cluster=request.cluster, folders=(request.folder,), minor=minor)
    with open_context(asked, listener) as context:
        try:
            refuse_second_scheduler(context.api, context.cluster.name)
            webhooks = list_webhooks(context.api)
        except (ApiException, HTTPError) as error:
            raise ApiUnreachableError("list what is there", str(error)) from error
        for name in webhooks:
            listener.run_progress(f"every arm's pods pass through the webhook {name}")
        yield context


def refuse_second_scheduler(api: ApiClient, cluster: str) -> None:
    """Raise an `InputError` if a scheduler of a Helm release is on the cluster."""
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


def _run_turn(  # noqa: PLR0917 - what a session has
    request: CompareRequest,
    contexts: Mapping[str, RunContext],
    bundle: Bundle,
    listener: CompareListener,
    number: int,
    turn: Turn,
) -> None:
    listener.turn_started(turn)
    (arm,) = (one for one in request.arms if one.name == turn.arm)
    context, limits = contexts[arm.minor], request.limits[turn.limits]  # type: ignore[index]

    def keep(record: RunRecord, configuration: str) -> None:
        bundle.add(record)
        if configuration:
            bundle.add_configuration(turn.limits, turn.arm, configuration)
        listener.turn_finished(turn, record)

    harness = ArmHarness(context, arm, limits, request.folder / "logs" / turn.folder, request.warm_up)
    taker = TurnListener(listener, turn, harness, keep, warm=request.warm_up > 0)
    # Namespaces outlive a run by seconds, so that each has a number of its own.
    outcome = run_scenario(context, request.scenario, number, taker, harness)
    if outcome.skipped:
        taker.keep(outcome)
