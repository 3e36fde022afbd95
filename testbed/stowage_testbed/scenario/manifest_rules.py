"""What the API server refuses of a manifest, as far as the manifest alone shows it."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import resources
from typing import Any

import yaml

from stowage_testbed.amounts.resources import QuantityError, amount
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.scenario.reading import describe
from stowage_testbed.scenario.steps.action import Where
from stowage_testbed.scenario.yaml_file import suggest_known

_KINDS: Mapping[str, Sequence[str]] = yaml.safe_load(resources.files(__package__).joinpath("kinds.yaml").read_text())
"""The kinds that a server has of its own, or that come with the chart, by their group."""

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CHOICES = {
    ("tolerations", "operator"): ("Exists", "Equal", "Lt", "Gt"),
    ("tolerations", "effect"): _EFFECTS,
    ("taints", "effect"): _EFFECTS,
    ("matchExpressions", "operator"): ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    ("matchFields", "operator"): ("In", "NotIn"),
    ("topologySpreadConstraints", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
}
"""The words of a field, by the list that it is in the entries of."""

_LABELS = ("labels", "matchLabels", "nodeSelector")
_LISTS = ("containers", "initContainers", "schedulingGates", "tolerations", "topologySpreadConstraints", "volumes")
_COUNTS = ("completions", "parallelism", "replicas")
_MAPPINGS = ("allocatable", "metadata", "spec", "template")
_FREE = ("annotations", "data", "stringData")  # In which any key may stand, and any text
_QUANTITIES = ("requests", "limits", "capacity", "allocatable", "hard", "overhead")
_VALUE = re.compile(r"(?=.{0,63}\Z)([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?(?=[^/]{1,63}\Z)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

Refusals = Iterator[tuple[Where, str]]  # The place of each value that is refused, and why


def check_manifest(manifest: Mapping[str, Any], defined: Collection[str], place: Where = ()) -> Refusals:
    """Yield what is refused of an object; ``defined`` are kinds that the scenario itself brings."""
    kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion", ""))
    group = version.rpartition("/")[0]
    if not version:
        known = [*defined, *(one for kinds in _KINDS.values() for one in kinds)]
        if kind not in known:
            close = get_close_matches(kind, known, n=1)
            hint = f"did you mean {close[0]!r}? Else " if close else ""
            message = f"no server has the kind {kind!r} of its own; {hint}"
            yield (*place, "kind"), f"{message}write the `apiVersion` of a kind that somebody else brings"
    # An older or newer server may have others of those that are not stable.
    elif group in _KINDS and re.fullmatch(r"v\d+", version.rpartition("/")[2]) and kind not in _KINDS[group]:
        of = next((f"it is of {one or 'v1'}" for one, kinds in _KINDS.items() if kind in kinds), "")
        yield (*place, "kind"), f"{version} has no kind {kind!r}; {of or suggest_known(kind, _KINDS[group])}"
    if "status" in manifest and not isinstance(manifest["status"], Mapping | None):
        yield (*place, "status"), f"status must be a mapping, not {describe(manifest['status'])}"
    if (not version or group in _KINDS) and kind != DEFINITION:
        yield from check_fields(manifest, place)


def check_fields(value: Any, place: Where = ()) -> Refusals:
    """Yield what is refused anywhere in a part of a manifest: words, labels, amounts and schedules."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from check_fields(one, (*place, number))
    for key, one in value.items() if isinstance(value, dict) else ():
        if key in _FREE:
            continue
        inner = (*place, key)
        known = _CHOICES.get((str(place[-2]), key), ()) if len(place) > 1 else ()
        if known and isinstance(one, str) and one and one not in known:
            yield inner, f"there is no {key} {one!r}; {suggest_known(one, known)}"
        elif key in _LISTS and isinstance(one, dict | str):
            yield inner, f"{key} must be a list, not {describe(one)}"
        elif (key in _MAPPINGS or inner[-2:] == ("status", "capacity")) and not isinstance(one, dict | None):
            yield inner, f"{key} must be a mapping, not {describe(one)}"
        elif key in _COUNTS and (isinstance(one, bool) or not isinstance(one, int | None)):
            yield inner, f"{key} must be a whole number, not {describe(one)}"
        elif key in _LABELS and isinstance(one, dict):
            yield from _check_labels(one, inner)
        elif key in _QUANTITIES and isinstance(one, dict):
            yield from _check_quantities(one, inner)
        elif key == "schedule" and isinstance(one, str):
            reason = find_schedule_fault(one)
            if "windows" in place and one.startswith("@every"):
                reason = "depends on when the process began"  # which the controller of a PackingPolicy refuses
            if reason:
                yield inner, f"the schedule {one!r} {reason}; write five fields, as in `*/5 * * * *`, or `@hourly`"
        else:
            yield from check_fields(one, inner)


def _check_labels(labels: Mapping[str, Any], place: Where) -> Refusals:
    for key, value in labels.items():
        if not _KEY.fullmatch(key):
            yield (*place, key), f"{key!r} cannot be the key of a label; write one as in example.com/team"
        elif isinstance(value, str) and not _VALUE.fullmatch(value):
            message = "of at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
            yield (*place, key), f"{value!r} cannot be the value of a label; write one {message}"


def _check_quantities(amounts: Mapping[str, Any], place: Where) -> Refusals:
    for name, quantity in amounts.items():
        if isinstance(quantity, str | int | float):
            try:
                amount(quantity)
            except QuantityError as error:
                yield (*place, name), str(error)


_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    ("day of week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DURATION = re.compile(r"(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+")


def find_schedule_fault(schedule: str) -> str:
    """Return why Kubernetes refuses the schedule of a CronJob, empty if it does not.

    It reads them by ``ParseStandard`` of github.com/robfig/cron, and wants a time zone in its own field.
    """
    if "TZ=" in schedule:
        return "names a time zone, which has the field `timeZone`"
    if schedule.startswith("@"):
        every = schedule.startswith("@every ") and _DURATION.fullmatch(schedule.removeprefix("@every "))
        return "" if every or schedule in _MACROS else f"is none of {', '.join(_MACROS)} and `@every 1h`"
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"has {len(parts)} fields"
    for part, (name, low, high, words) in zip(parts, _FIELDS, strict=True):
        for one in part.split(","):
            if not _is_cron_range(one, low, high, words):
                return f"has {one!r} for its {name}, which is no range from {low} to {high}"
    return ""


def _is_cron_range(text: str, low: int, high: int, words: Mapping[str, int]) -> bool:
    """Return whether a text is one of `*`, `1`, `1-5`, each also with a step as in `*/5`."""
    match = re.fullmatch(r"(?:[*?]|(\w+)(?:-(\w+))?)(?:/(\d+))?", text, re.ASCII)
    if match is None or (match[3] and not int(match[3])):
        return False
    ends = [words.get(one.lower(), int(one) if one.isdigit() else -1) for one in match.groups()[:2] if one]
    return all(low <= end <= high for end in ends) and ends == sorted(ends)
