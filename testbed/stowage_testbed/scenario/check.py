"""Expectations against what happened: every check is a value, none raises."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from stowage_testbed.amounts.resources import Resources, spell
from stowage_testbed.metrics.state import (
    ClusterState,
    compute_utilisation,
    count_pending_by_workload,
    count_placed_by_priority,
    count_pods_per_node,
    is_not_worse,
    list_groups,
    list_placements,
)
from stowage_testbed.scenario.expected import ExpectedMoment, ExpectedObject, MetricBound
from stowage_testbed.scenario.expression import Expression

NAMES = ("name", "type", "key", "uid", "containerPort", "port", "mountPath", "ip")
"""Fields by which the API tells elements of lists apart, as patches merge them."""


def find_differences(wanted: Any, found: Any, path: str = "") -> Iterator[tuple[str, object, object]]:
    """Yield the path of each field that is not as ``wanted`` has it, what is wanted there, and what is found, if any.

    What is not named is not looked at. Elements of a list are matched by the field that tells them apart, if all that
    are wanted have one; else in turn.
    """
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key, value in wanted.items():
            inner = f"{path}.{key}" if path else str(key)
            yield from find_differences(value, found.get(key), inner)
    elif isinstance(wanted, list) and isinstance(found, list):
        maps = bool(wanted) and all(isinstance(one, Mapping) for one in wanted)
        tells_apart = (one for one in NAMES if maps and len({str(e[one]) for e in wanted if one in e}) == len(wanted))
        if name := next(tells_apart, ""):
            there = {one.get(name): one for one in found if isinstance(one, Mapping)}
            for one in wanted:
                yield from find_differences(one, there.get(one[name]), f"{path}[{one[name]}]")
        elif len(wanted) != len(found):
            yield path, wanted, found
        else:
            for at, (one, other) in enumerate(zip(wanted, found, strict=True)):
                yield from find_differences(one, other, f"{path}[{at}]")
    elif wanted != found:
        yield path, wanted, found


_EVENTS = 3  # Events that are shown of an object that is not as expected


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One expectation and what was found; ``message`` is empty where it holds."""

    name: str
    passed: bool
    expected: str
    actual: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class OptimizerRecord:
    """What the plans of a run say: ``moves`` and ``evictions`` are sums, ``optimal`` is of the last plan."""

    solves: int = 0
    moves: int = 0
    evictions: int = 0
    optimal: bool = False
    phases: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """What was there at one moment."""

    state: ClusterState
    plans: OptimizerRecord = OptimizerRecord()
    objects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Objects as JSON by the scenario's name for them; one that is not there is left out."""
    workload_of: Mapping[str, str] = field(default_factory=dict)
    """The workload of each pod, by the pod's name."""
    events: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the API's events say of objects, the latest last, by the object's name."""
    before: ClusterState | None = None
    """What it must not be worse than: the state at a checkpoint before."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Everything that expressions read, by the name that they have for it."""


def check_moment(expect: ExpectedMoment, moment: Moment, tolerance: float) -> Iterator[CheckResult]:
    """Yield a result for each thing that is expected, and whether it is not worse than the moment before, if any."""
    yield from check_state(expect, moment.state, tolerance)
    record = moment.plans
    for name, bounds, count in (
        ("moves", expect.moves, record.moves),
        ("evictions", expect.evictions, record.evictions),
        ("solves", expect.solves, record.solves),
    ):
        if bounds is not None:
            yield _compare(name, bounds, count, bounds.holds(count))
    if expect.phases is not None:
        yield _compare("phases of plans", _drop_zeros(expect.phases), dict(record.phases))
    if expect.optimal is not None:
        yield _compare("optimal", expect.optimal, record.optimal)
    for name, wanted in expect.objects.items():
        body = moment.objects.get(name)
        there = wanted.get("there", True)
        if body is None or not there:
            yield _compare(f"{name} is there", there, body is not None)
            continue
        events = "; ".join(moment.events.get(str(body["metadata"]["name"]), ())[-_EVENTS:])
        for result in _check_object(name, wanted, body, moment.workload_of):
            failed = events and not result.passed
            yield replace(result, message=f"{result.message} (events: {events})") if failed else result
    yield from check_expressions(expect.that, moment.values)
    if moment.before is not None:
        if expect.utilisation_delta is not None:
            was, now = compute_utilisation(moment.before), compute_utilisation(moment.state)
            delta = {name: share - was.get(name, 0) for name, share in now.items()}
            yield from _check_close("utilisation_delta", expect.utilisation_delta, delta, tolerance)
        had, has = count_placed_by_priority(moment.before), count_placed_by_priority(moment.state)
        yield _compare("not_worse", f"at least {_show(had)}", has, is_not_worse(had, has))


def check_state(expect: ExpectedMoment, state: ClusterState, tolerance: float) -> Iterator[CheckResult]:
    """Yield a result for each thing that is expected of pods and nodes."""
    if expect.placed is not None:
        yield _compare("placed", expect.placed, len(state.bound), expect.placed.holds(len(state.bound)))
    if expect.pending is not None:
        yield _compare("pending", _drop_zeros(expect.pending), count_pending_by_workload(state))
    if expect.placements is not None:
        found = list_placements(state)
        for workload, nodes in expect.placements.items():
            yield _compare(f"placements of {workload}", list(nodes), list(found.get(workload, ())))
    if expect.groups is not None:
        yield _compare("groups", [*map(list, expect.groups)], [*map(list, list_groups(state))])
    if expect.placed_by_priority is not None:
        placed = count_placed_by_priority(state)
        for priority, bounds in expect.placed_by_priority.items():
            count = placed.get(priority, 0)
            yield _compare(f"placed of priority {priority}", bounds, count, bounds.holds(count))
    if expect.utilisation is not None:
        yield from _check_close("utilisation", expect.utilisation, compute_utilisation(state), tolerance)
    if expect.pods_per_node is not None:
        counts = count_pods_per_node(state)
        outside = {node: count for node, count in counts.items() if not expect.pods_per_node.holds(count)}
        low, high = min(counts.values(), default=0), max(counts.values(), default=0)
        actual = (str(low) if low == high else f"{low} to {high}") + (f" {_show(outside)}" if outside else "")
        yield _compare("pods_per_node", expect.pods_per_node, actual, not outside)


def check_metrics(
    bounds: Mapping[str, MetricBound], values: Mapping[str, float | None], notes: Mapping[str, str] | None = None
) -> Iterator[CheckResult]:
    """Yield a result for each bound on a metric; one whose value is None does not keep it."""
    for name, bound in bounds.items():
        value = values.get(name)
        expected, actual, message = str(bound), "no value" if value is None else f"{value:g}", ""
        if name not in values:
            message = f"no metric is called {name!r}; known are: {', '.join(values) or 'none'}"
        elif value is None:
            message = f"{name}: {(notes or {}).get(name) or 'there is no value in this window'}"
        elif not bound.holds(value):
            low, high = bound.spread
            message = (
                f"{name}: expected {expected}, found {actual}; the bound comes from {bound.runs} runs with {low:g} to "
                f"{high:g} and a margin of {bound.margin:g} ({bound.origin})"
            )
        yield CheckResult(name, not message, expected, actual, message)


def check_expressions(expressions: Iterable[Expression], values: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Yield a result for each expression, with what it has read where it fails."""
    for one in expressions:
        read = one.look(values)
        if read is None:
            yield CheckResult(one.text, True, "true", "true")
        else:
            yield CheckResult(one.text, False, "true", read, f"{one.text} does not hold: {read}")


def _check_object(
    name: str, wanted: ExpectedObject, body: Mapping[str, Any], workload_of: Mapping[str, str]
) -> Iterator[CheckResult]:
    status = body.get("status") or {}
    if "phase" in wanted:
        yield _compare(f"phase of {name}", wanted["phase"], status.get("phase", "none"))
    if "nodeName" in wanted:
        node = status.get("nodeName") or (body.get("spec") or {}).get("nodeName")
        yield _compare(f"node of {name}", wanted["nodeName"], node or "none")
    if "currentOwners" in wanted:
        pods = (str(owner.get("name")) for owner in status.get("currentOwners") or ())
        owners = Counter(workload_of.get(pod, pod) for pod in pods)
        yield _compare(f"owners of {name}", _drop_zeros(wanted["currentOwners"]), dict(owners))
    if "allocated" in wanted:
        asked, found = Resources.of_list(wanted["allocated"]), Resources.of_list(status.get("allocated") or {})
        wants, has = ({key: spell(key, one[key]) for key in asked} for one in (asked, found))
        yield _compare(f"allocated of {name}", wants, has)
    rest = {key: value for key, value in wanted.items() if key not in ExpectedObject.__annotations__}
    wrong = list(find_differences(rest, body))
    for path, expected, actual in wrong:
        yield _compare(f"{path} of {name}", expected, "none" if actual is None else actual)
    if rest and not wrong:
        yield _compare(f"{', '.join(rest)} of {name}", True, True)


def _drop_zeros(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts that are not 0, which is what is not there."""
    return {name: count for name, count in counts.items() if count}


def _check_close(
    name: str, expected: Mapping[str, float], actual: Mapping[str, Fraction], tolerance: float
) -> Iterator[CheckResult]:
    allowed = Fraction(str(tolerance))
    for resource, share in expected.items():
        found = actual.get(resource, Fraction(0))
        near = abs(found - Fraction(str(share))) <= allowed
        shown = f"{float(found):.6g}"
        if resource not in actual:
            shown += ", for no node has any"
        yield _compare(f"{name} of {resource}", f"{share:.6g}", shown, near)


def _compare(name: str, expected: object, actual: object, passed: bool | None = None) -> CheckResult:
    """Return the result for what is expected and found, which passes if both are equal unless ``passed`` says more."""
    passed = expected == actual if passed is None else passed
    wanted, found = _show(expected), _show(actual)
    return CheckResult(name, passed, wanted, found, "" if passed else f"{name}: expected {wanted}, found {found}")


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        parts = sorted((str(key), str(inner)) for key, inner in value.items())
        return "{" + ", ".join(f"{key}: {inner}" for key, inner in parts) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_show(item) for item in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
