"""A whole comparison: one cluster a minor, every arm, every round; resumable. `compare` runs it."""

import gc
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import chain, groupby
from typing import Any

from kubernetes.client import AdmissionregistrationV1Api, ApiClient, ApiException, AppsV1Api
from urllib3.exceptions import HTTPError

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError
from stowage_testbed.api.pod_templates import PodOverrides, apply_overrides
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.wait import Clock, SystemClock
from stowage_testbed.cluster.feature_gates import make_gates
from stowage_testbed.compare.arms.serving import LABEL, Arm, ended_with
from stowage_testbed.compare.arms.settings import ArmSettings
from stowage_testbed.compare.comparison import (
    ArmEntry,
    Bundle,
    BundleMissingError,
    Comparison,
    PreflightRow,
    ScenarioText,
    Turn,
    sha256_of,
)
from stowage_testbed.compare.request import CompareListener, CompareRequest, make_turns
from stowage_testbed.compare.speed import measure_speed
from stowage_testbed.compare.verdicts import FIRST_LOOK, Question
from stowage_testbed.helm.release import file_log
from stowage_testbed.metrics.footprint import UNKNOWN, Footprint, FootprintMeter
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.condition import pods_gone, pods_placed
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.run.cluster import open_context
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.environment import make_namespace
from stowage_testbed.run.execution import Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload, choose_headlines
from stowage_testbed.scenario.steps.context import WindowListener, await_account
from stowage_testbed.scenario.steps.overloading import OUTCOME
from stowage_testbed.toolchain.environment import environment
from stowage_testbed.toolchain.manifest import find_minor

SELECTOR = f"app.kubernetes.io/component=scheduler,app.kubernetes.io/managed-by=Helm,!{LABEL}"
NOT_APPLICABLE = "-"
COMPARED = ("version", "Kubernetes")
GATES = {True: "on", False: "off", None: "not told"}


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
                listener.turn_started(turn)
                (arm,) = (one for one in request.arms if one.name == turn.arm)
                context = contexts[arm.minor]
                run = ArmTurn(request, context, arm, turn, bundle, listener)
                # Namespaces outlive a run by seconds, so that each has a number of its own.
                outcome = run_scenario(context, request.scenario, number, run, run)
                if outcome.skipped:
                    run.add(outcome)
    return bundle.finish()


def begin_bundle(request: CompareRequest) -> Bundle:
    """Return the folder of this comparison, new or resumed; an `InputError` if it may not be made, or not there."""
    if not request.scenario.is_measured:
        raise InputError(
            f"{request.scenario.scenario_id} measures nothing: it needs `steps` with `measure: start` and `measure: "
            "stop`, as scenarios/burst/deployment-200.yaml has them"
        )
    asked = _make_comparison(request)
    try:
        bundle = Bundle.resume(request.folder)
    except BundleMissingError:
        # It takes a second, and one that is resumed has it.
        return Bundle.create(request.folder, replace(asked, speed=measure_speed()))
    differs = [word for word, of in _SAME.items() if of(bundle.comparison) != of(asked)]
    if differs:
        why = f"{request.folder} holds another comparison ({' and '.join(differs)} differ)"
        raise InputError(f"{why}; name another folder with --results, or remove it")
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


def compare_settings(settings: Mapping[str, ArmSettings], limits: str = "own") -> tuple[PreflightRow, ...]:
    """Return what the arms have in common and what not, before anything is started."""
    gates = sorted({gate for one in settings.values() for gate in one.feature_gates})
    shown = {
        arm: {
            "version": one.version,
            "Kubernetes": one.kubernetes,
            "client QPS": "no limit" if one.qps is None else f"{one.qps:g}",
            "client burst": "no limit" if one.burst is None else f"{one.burst:g}",
            "parallelism": NOT_APPLICABLE if one.parallelism is None else f"{one.parallelism:g}",
            "nodes scored": "adaptive" if one.sampled_percent is None else f"{one.sampled_percent} %",
            **{f"feature gate {gate}": GATES[one.feature_gates.get(gate)] for gate in gates},
            "webhooks": ", ".join(sorted(one.webhooks)) or "none",
        }
        for arm, one in settings.items()
    }
    by_name = {name: {arm: of_arm[name] for arm, of_arm in shown.items()} for name in next(iter(shown.values()))}
    # Versions are what is compared, and an arm to which a property does not apply cannot differ in it.
    return tuple(
        PreflightRow(limits, name, values, name in COMPARED or len(set(values.values()) - {NOT_APPLICABLE}) <= 1)
        for name, values in by_name.items()
    )


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


def _make_comparison(request: CompareRequest) -> Comparison:
    """Return what is asked; an `InputError` if the arms differ in what decides, and that was not allowed."""
    scenario = request.scenario
    text = scenario.path.read_text("utf-8") if scenario.path else ""
    settings = {
        arm.name: {
            kind: replace(arm.settings(limits), kubernetes=find_minor(arm.minor).kubernetes)
            for kind, limits in request.limits.items()
        }
        for arm in request.arms
    }
    for arm in request.arms:
        own = dict(arm.features.gates).keys() - dict(scenario.features.gates)
        for of_kind in settings[arm.name].values():
            if unknown := sorted(own - of_kind.feature_gates.keys()):
                raise InputError(f"the scheduler of arm {arm.name} has no feature gate {' or '.join(unknown)}")
    rows: list[PreflightRow] = []
    for kind in request.limits:
        found = compare_settings({arm: of[kind] for arm, of in settings.items()}, kind)
        if (why := explain_refusal(found)) and not request.allow_unfair:
            raise InputError(why)
        rows += found
    return Comparison(
        scenario=ScenarioText(scenario.scenario_id, text, sha256_of(text), dict(scenario.parameters)),
        started=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        baseline=request.arms[0].name,
        arms=tuple(ArmEntry(arm.name, settings[arm.name], build=arm.build()) for arm in request.arms),
        limits=tuple(request.limits),
        rounds=request.rounds if request.time_s is None else 1,
        seed=request.seed,
        environment=environment(request.arms[0].minor),
        preflight=tuple(rows),
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
        if left and time_s is not None:
            if number > 1:
                listener.round_judged(bundle.comparison)
                made = max(run.round_number for run in bundle.comparison.runs)
                # Whose runs have failed so far will not be waited for.
                judged = [one for one in bundle.comparison.verdicts if one.rounds]
                if made >= FIRST_LOOK and all(one.rounds >= FIRST_LOOK and not one.open for one in judged):
                    return
            if clock.now() - begin_s >= time_s:
                return
            bundle.extend(number)
        yield from left


def select_remaining(turns: Sequence[Turn], done: Collection[Turn]) -> list[Turn]:
    """Return the turns of every incomplete round: the runs of a round are pairs, so all are made again."""
    broken = {(one.limits, one.round_number) for one in turns if one not in done}
    return [one for one in turns if (one.limits, one.round_number) in broken]


@contextmanager
def _open_for_arms(request: CompareRequest, minor: str, listener: CompareListener) -> Iterator[RunContext]:
    """Open a cluster of a minor: all arms of that minor have their turns on it."""
    scenario, folders = request.scenario, (request.folder,)
    features = scenario.features
    for arm in request.arms:
        # What an arm switches off is its scheduler's matter alone.
        on = {gate: True for gate, is_on in arm.features.gates if is_on and arm.minor == minor}
        features |= make_gates(on)
    asked = RunRequest((scenario,), cluster=request.cluster, folders=folders, minor=minor, features=features)
    with open_context(asked, secrets.token_hex(2), listener, Stopwatch()) as context:
        admission: Any = AdmissionregistrationV1Api(context.api)
        try:
            refuse_second_scheduler(context.api, context.cluster.name)
            kinds = admission.list_mutating_webhook_configuration(), admission.list_validating_webhook_configuration()
        except (ApiException, HTTPError) as error:
            raise ApiUnreachableError("list what is there", str(error)) from error
        found = (one for kind in kinds for one in kind.items)
        for name in sorted(f"{one.metadata.name}/{webhook.name}" for one in found for webhook in one.webhooks or ()):
            listener.run_progress(f"every arm's pods pass through the webhook {name}")
        yield context


def refuse_second_scheduler(api: ApiClient, cluster: str) -> None:
    """Raise an `InputError` if a scheduler of a Helm release is on the cluster."""
    apps: Any = AppsV1Api(api)
    for one in apps.list_deployment_for_all_namespaces(label_selector=SELECTOR).items:
        release = f"{one.metadata.namespace}/{one.metadata.name}"
        raise InputError(
            f"cluster {cluster} has the scheduler {release}, which would place pods of the arms; `helm uninstall` it, "
            "or leave --cluster out to compare on a cluster of its own"
        )


LONGEST = 58
"""Characters of a namespace beside the prefix, of the 63 that a name may have."""


@dataclass(slots=True)
class WindowMeter(WindowListener):
    """Reads the memory and CPU time of a scheduler's processes, and keeps its own process still."""

    pids: tuple[int, ...] = ()
    footprint: Footprint = UNKNOWN
    _meter: FootprintMeter | None = None

    def open(self) -> None:
        """Forget former peaks, and clear up before it matters."""
        # A full collection stops every thread for a tenth of a second, and all receipts
        # with it: what is there already need not be looked through while it lasts.
        gc.collect()
        gc.freeze()
        self._meter = FootprintMeter(self.pids)

    def close(self) -> None:
        """Read the footprint; nothing happens unless the window is open."""
        if self._meter is not None:
            self.footprint, self._meter = self._meter.read(), None
            gc.unfreeze()


@dataclass(eq=False)
class ArmTurn(Harness, Listener):
    """Has an arm serve for its turn, warmed up and measured, and adds the record to the bundle.

    Its manifests and logs go to the turn's folder.
    """

    is_released = False
    is_judged = False
    # The end of the arm is the error of its turn alone.
    is_supervised = False

    request: CompareRequest
    context: RunContext
    arm: Arm
    turn: Turn
    bundle: Bundle
    listener: CompareListener
    _configuration: str = ""
    _meter: WindowMeter = field(default_factory=WindowMeter)

    def __post_init__(self) -> None:
        self.pod_overrides = self.arm.pod_overrides

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the arm's processes."""
        return self._meter.pids

    @contextmanager
    def serving(self, namespace: str, recorder: RunRecorder) -> Iterator[None]:
        """Start the arm for the block, and warm it up."""
        recorder.report(f"start {self.arm.name}")
        folder, limits = self.request.folder / "logs" / self.turn.folder, self.request.limits[self.turn.limits]
        with self.arm.running(self.context.cluster, folder, limits) as running, ended_with(running):
            recorder.follow_logs({name: file_log(file) for name, file in running.log_files.items()})
            if self.request.warm_up:
                recorder.report("warm up")
                # The end of the name is what no other run has.
                warm = f"warm-{namespace[-LONGEST:]}".replace("--", "-")
                warm_up(self.context, self.arm.pod_overrides, self.request.warm_up, warm)
            try:
                # The plans of the optimiser, where there is one, move and evict.
                self.context.observer.watch(PACKING_PLANS)
            except ApiRefusedError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
            self._configuration = running.configuration
            self._meter = self.window_listener = WindowMeter(running.pids)
            try:
                yield
            finally:
                # Also when the arm has ended: other turns follow in this process.
                self._meter.close()
            running.check()

    def scenario_progress(self, text: str) -> None:
        """Pass it on."""
        self.listener.scenario_progress(text)

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Add the record."""
        self.add(outcome)

    def add(self, outcome: ScenarioOutcome) -> None:
        """Add the record; what went wrong with arm or scenario is its error."""
        (limits, number, arm), footprint = self.turn, self._meter.footprint
        # What became of an overloaded service is what is compared, and no failure.
        failed = [check.message for check in outcome.failed_checks if check.name != OUTCOME]
        errors = [outcome.skipped, outcome.error, *failed]
        record = outcome.record
        if record is None:
            record = RunRecord(outcome.scenario_id, arm, limits, number, nodes=(), pods=(), window_s=0.0)
            if not any(errors):
                errors.append("no window was measured: `measure: start` or `measure: stop` was not reached")
        record = replace(
            record,
            arm=arm,
            limits=limits,
            round_number=number,
            warm=self.request.warm_up > 0,
            peak_memory_bytes=footprint.peak_memory_bytes,
            cpu_s=footprint.cpu_s,
            error="; ".join(filter(None, (*errors, record.error))),
        )
        self.bundle.add(record)
        if self._configuration:
            self.bundle.add_configuration(limits, arm, self._configuration)
        self.listener.turn_finished(self.turn, record)


def warm_up(context: RunContext, pod_overrides: PodOverrides, pods: int, namespace: str) -> None:
    """Place small pods in a namespace of their own and delete them: some schedulers' first burst is slow."""
    objects = context.objects
    workload = Workload("warm-up", pods, requests=Resources(cpu=1, memory=1_000_000))
    make_namespace(context, namespace)
    try:
        await_account(context.observer, namespace)
        objects.create(apply_overrides(make_controller(workload, namespace), pod_overrides))
        context.observer.wait_for(
            f"{pods} pods to be placed before anything is measured",
            pods_placed(namespace, pods),
            timeout_s=timeouts.SETTLE_BASE_S + timeouts.SETTLE_PER_POD_S * pods,
        )
    finally:
        # Left alone, its controller would go on making pods amid what is measured.
        for kind in ("ReplicaSet", "Pod"):
            objects.delete_all(kind, namespace)
        objects.delete("Namespace", namespace)
    context.observer.wait_for(f"the pods of {namespace} to go", pods_gone(namespace), timeout_s=timeouts.CLEANUP_S)
