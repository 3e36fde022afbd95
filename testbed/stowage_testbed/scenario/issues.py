"""What a schema violation means to the author of a file: the issue and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from jsonschema.exceptions import ValidationError

from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.parameters import FIXED_SECTIONS, PLACEHOLDER


@dataclass(frozen=True, slots=True)
class DocumentIssue:
    """One issue of a document: its place and its text.

    A harmless one leaves everything around it readable. One marked ``reported`` is
    reported by another part of the loader.
    """

    place: Place
    message: str
    of_key: bool = False
    harmless: bool = False
    reported: bool = False


WHOLE = "x-whole"
"""The keyword by which a schema says what to call a whole file of its kind."""

NOUNS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
    "boolean": "true or false",
}

FORMATS = {
    "label": "of lower-case letters, digits and '-', at most 63 long, as in web-1",
    "scenario-name": "a topic and a behaviour, as in paper/figure-1",
    "parameter-name": "of lower-case letters, digits and '_', as in pods_per_node",
    "priority": "a whole number, as in 10",
    "metric-name": "as Stowage names it, such as t_sched_p99_s",
    "any-resource": "a resource besides pods, as in cpu or nvidia.com/gpu",
    "resource-name": "a resource besides cpu, memory and pods, as in nvidia.com/gpu",
    "positive-cpu": "more than 0, as in 500m",
    "positive-memory": "more than 0, as in 4G",
    "quantity": "0 or more, as in 1",
}


def translate_errors(errors: Iterable[ValidationError]) -> Iterator[DocumentIssue]:
    """Translate the validator's errors, in the order in which it found them."""
    for error in errors:
        if _is_left_over(error):
            yield DocumentIssue(_place_of(error), "an undeclared parameter", reported=True)
            continue
        translate = _TRANSLATORS.get(str(error.validator))
        said = translate(error) if translate else f"{_name(error)}: {error.message}"
        if isinstance(said, str):
            yield DocumentIssue(_place_of(error), said)
        else:
            yield from said


def describe(value: object) -> str:
    """Return a value in words, short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return str(value)
        case str():
            return f"the text {value!r}" if value else "an empty text"
        case list():
            return "a list"
    return "a mapping"


def suggest_known(name: str, known: Sequence[str], shown: int | None = None) -> str:
    """Return the nearest known word, or all of them, or the first of many."""
    if close := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {close[0]!r}?"
    if not known:
        return "there is none"
    more = ["and so on"] if shown is not None and len(known) > shown else []
    return f"known are {', '.join([*known[:shown], *more])}"


def explain_unknown(noun: str, name: str, known: Sequence[str]) -> str:
    """Say that nothing has a name, and which names there are."""
    return f"no {noun} is called {name!r}; {suggest_known(name, known, 12)}"


def _translate_unknown_key(error: ValidationError) -> Iterator[DocumentIssue]:
    known = list(_properties_of(error))
    for key in _given_of(error):
        if key not in known:
            yield DocumentIssue(
                (*_place_of(error), key),
                f"unknown key {key!r} in {_name(error)}; {suggest_known(key, known)}",
                of_key=True,
                harmless=True,
            )


def _translate_missing_key(error: ValidationError) -> Iterator[DocumentIssue]:
    for key in _asked_of(error):
        if key not in _given_of(error):
            about = _properties_of(error)[key].get("description", "")
            message = f"{_name(error)} lacks the key {key!r}; add it. {about}"
            yield DocumentIssue(_place_of(error), message.strip())


def _translate_type(error: ValidationError) -> str:
    types = _asked_of(error)
    names = [types] if isinstance(types, str) else list(types)
    nouns = " or ".join(NOUNS[name] for name in names)
    quotable = names == ["string"] and isinstance(error.instance, bool | int | float)
    hint = "; put it in quotes" if quotable else ""
    return f"{_name(error)} must be {nouns}, not {describe(error.instance)}{hint}"


def _translate_choice(error: ValidationError) -> str:
    known = [str(value) for value in _asked_of(error)]
    way_out = suggest_known(str(error.instance), known)
    return f"{_name(error)} cannot be {describe(error.instance)}; {way_out}"


def _translate_limit(words: str) -> Callable[[ValidationError], str]:
    return lambda error: f"{_name(error)} must be {words} {_asked_of(error)}, not {error.instance}"


def _translate_too_few(error: ValidationError) -> str:
    if _asked_of(error) > 1:
        return _translate_number(error)
    return f"{_name(error)} is empty; fill it or remove it"


def _translate_number(error: ValidationError) -> str:
    given = len(_given_of(error))
    return f"{_name(error)} must have {_asked_of(error)} entries, not {given}"


def _translate_too_many_keys(error: ValidationError) -> str:
    keys = " and ".join(repr(key) for key in _given_of(error))
    return f"{_name(error)} has the keys {keys}; keep one and move the others"


def _translate_other_form(error: ValidationError) -> Iterator[DocumentIssue]:
    """Yield the issue of a key that only fits with `steps`, or only without."""
    way_out = "has no place beside `steps`; remove it"
    if "else" in error.schema_path:
        way_out = "has a meaning only with `steps`; write them, or remove it"
    message = f"{spell(_place_of(error))!r} {way_out}"
    yield DocumentIssue(_place_of(error), message, of_key=True, harmless=True)


def _translate_format(error: ValidationError) -> _Translation:
    if error.cause is not None:
        return f"{_name(error)}: {error.cause}"
    must = FORMATS[str(_asked_of(error))]
    if "propertyNames" in list(error.schema_path):
        message = f"key {error.instance!r} in {_name(error)} must be {must}"
        key = (*_place_of(error), str(error.instance))
        return iter([DocumentIssue(key, message, of_key=True)])
    return f"{_name(error)} must be {must}; not {describe(error.instance)}"


def _translate_branches(error: ValidationError) -> _Translation:
    """Return the issues of the branch whose type fits the value, else the types."""
    inner = list(error.context or ())
    misfits = {e.schema_path[0] for e in inner if e.validator == "type" and not e.path}
    fitting = [e for e in inner if e.schema_path[0] not in misfits]
    if fitting:
        return translate_errors(fitting)
    nouns = " or ".join(NOUNS[branch["type"]] for branch in _asked_of(error))
    return f"{_name(error)} must be {nouns}, not {describe(error.instance)}"


_Translation = str | Iterator[DocumentIssue]
"""What is wrong with the value itself; or issues with places of their own."""

_TRANSLATORS: dict[str, Callable[[ValidationError], _Translation]] = {
    "additionalProperties": _translate_unknown_key,
    "required": _translate_missing_key,
    "type": _translate_type,
    "enum": _translate_choice,
    "minimum": _translate_limit("at least"),
    "exclusiveMinimum": _translate_limit("more than"),
    "maximum": _translate_limit("at most"),
    "maxItems": _translate_number,
    "maxProperties": _translate_too_many_keys,
    "minItems": _translate_too_few,
    "minLength": _translate_too_few,
    "minProperties": _translate_too_few,
    "not": _translate_other_form,
    "uniqueItems": lambda error: f"{_name(error)} names a word twice; keep one",
    "format": _translate_format,
    "anyOf": _translate_branches,
}


def _is_left_over(error: ValidationError) -> bool:
    """Return whether a placeholder stands where it would have been filled in."""
    place = _place_of(error)
    return (
        isinstance(error.instance, str)
        and PLACEHOLDER.search(error.instance) is not None
        and place[:1] not in {(section,) for section in FIXED_SECTIONS}
    )


def _asked_of(error: ValidationError) -> Any:
    return error.validator_value


def _given_of(error: ValidationError) -> Any:
    return error.instance


def _properties_of(error: ValidationError) -> dict[str, Any]:
    schema: Any = error.schema
    return dict(schema.get("properties", {}))


def _place_of(error: ValidationError) -> Place:
    return tuple(error.absolute_path)


def _name(error: ValidationError) -> str:
    place, schema = _place_of(error), cast("Mapping[str, Any]", error.schema)
    return spell(place) if place else schema.get(WHOLE, spell(place))


def spell(place: Place) -> str:
    """Return a place as people write it: ``workload[0].replicas``."""
    if not place:
        return "the scenario"
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.lstrip(".")
