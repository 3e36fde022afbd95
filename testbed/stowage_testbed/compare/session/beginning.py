"""Before a comparison runs: is it fair, does it measure, is it that in the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.bundle import BundleFolder, BundleMissingError
from stowage_testbed.compare.calibration import measure_speed
from stowage_testbed.compare.comparison import ArmEntry, Comparison, PreflightRow, ScenarioText
from stowage_testbed.compare.session.request import CompareRequest
from stowage_testbed.compare.verdicts.judging import Question
from stowage_testbed.run.arm import Arm, ArmSettings, ClientLimits
from stowage_testbed.scenario.headlines import choose_headlines, is_measured
from stowage_testbed.toolchain.environment import environment
from stowage_testbed.toolchain.minors import find_minor

EQUAL_LIMITS = "--limits equal"
ALLOW_UNFAIR = "--allow-unfair"
NOT_APPLICABLE = "-"


def compare_settings(settings: Mapping[str, ArmSettings], limits: str = "own") -> tuple[PreflightRow, ...]:
    """Return what the arms have in common and what not, before anything is started.

    A pure function of what the arms say of themselves, by their names. Client limits
    alone explain more than most schedulers differ by, so arms that have others are
    refused.
    """
    return tuple(_make_rows(settings, limits))


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
        f"give all the same client limits and feature gates with {EQUAL_LIMITS}, "
        f"or compare them as they are with {ALLOW_UNFAIR}"
    )


def _make_rows(settings: Mapping[str, ArmSettings], limits: str) -> Iterator[PreflightRow]:
    def row(name: str, value: Callable[[ArmSettings], str], *, decides: bool = True) -> PreflightRow:
        values = {arm: value(one) for arm, one in settings.items()}
        # An arm to which a property does not apply cannot differ in it.
        stated = set(values.values()) - {NOT_APPLICABLE}
        fair = len(stated) <= 1 or not decides
        return PreflightRow(limits, name, values, fair)

    yield row("version", lambda one: one.version, decides=False)
    yield row("Kubernetes", lambda one: one.kubernetes, decides=False)
    yield row("client QPS", lambda one: _show_number(one.qps, "no limit"))
    yield row("client burst", lambda one: _show_number(one.burst, "no limit"))
    yield row("parallelism", lambda one: _show_number(one.parallelism, NOT_APPLICABLE))
    yield row("nodes scored", lambda one: "adaptive" if one.sampled_percent is None else f"{one.sampled_percent} %")
    gates = {gate for one in settings.values() for gate in one.feature_gates}
    for gate in sorted(gates):
        yield row(f"feature gate {gate}", partial(_show_gate, gate))
    yield row("webhooks", lambda one: ", ".join(sorted(one.webhooks)) or "none")


def _show_number(value: float | None, without: str) -> str:
    return without if value is None else f"{value:g}"


def _show_gate(gate: str, settings: ArmSettings) -> str:
    if gate not in settings.feature_gates:
        return "not told"
    return "on" if settings.feature_gates[gate] else "off"


def begin_bundle(request: CompareRequest) -> BundleFolder:
    """Return the folder of this comparison, which is new or is resumed.

    Raises
    ------
    InputError
        The scenario has no measured window, the arms differ in what decides and that
        was not allowed, or the folder holds another comparison.
    """
    if not is_measured(request.scenario):
        raise InputError(
            f"{request.scenario.scenario_id} measures nothing: it needs `steps` with "
            "`measure: start` and `measure: stop`, as "
            "scenarios/burst/deployment-200.yaml has them"
        )
    asked = _make_comparison(request, check_arms(request))
    try:
        found = BundleFolder.resume(request.folder)
    except BundleMissingError:
        # It takes a second, and one that is resumed has it.
        asked = replace(asked, speed=measure_speed())
        return BundleFolder.create(request.folder, asked)
    differs = [word for word, of in _SAME.items() if of(found.comparison) != of(asked)]
    if differs:
        raise InputError(
            f"{request.folder} holds another comparison ({' and '.join(differs)} "
            "differ); name another folder with --results, or remove it"
        )
    found.extend(asked.rounds)
    return found


_SAME: Mapping[str, Callable[[Comparison], object]] = {
    "scenarios": lambda one: one.scenario.sha256,
    "parameters": lambda one: one.scenario.parameters,
    "arms": lambda one: [arm.name for arm in one.arms],
    "settings of the arms": lambda one: [arm.settings for arm in one.arms],
    "builds of the arms": lambda one: [arm.build for arm in one.arms],
    "limits": lambda one: one.limits,
    "seeds": lambda one: one.seed,
    "pods for warming up": lambda one: one.warm_up,
    "headlines or looks at the rounds": lambda one: one.question,
}
"""What runs must have in common to be rounds of one comparison."""


def check_arms(request: CompareRequest) -> tuple[PreflightRow, ...]:
    """Return what the arms differ in, by kind of client limits.

    Raises
    ------
    InputError
        They differ in what decides, and that was not allowed.
    """
    rows: list[PreflightRow] = []
    for kind, limits in request.limits.items():
        settings = {arm.name: _settings_of(arm, limits) for arm in request.arms}
        found = compare_settings(settings, kind)
        if (why := explain_refusal(found)) and not request.allow_unfair:
            raise InputError(why)
        rows += found
    return tuple(rows)


def _settings_of(arm: Arm, limits: ClientLimits | None) -> ArmSettings:
    """Return how an arm will run, with the control plane that it will run on."""
    kubernetes = find_minor(arm.minor).kubernetes
    return replace(arm.settings(limits), kubernetes=kubernetes)


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
