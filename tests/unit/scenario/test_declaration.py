"""A setting is declared once: its schema and its reading follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from stowage_testbed.amounts.quantity import Cpu
from stowage_testbed.declaration import (
    collect_definitions,
    form,
    make_case_schema,
    make_object,
    make_object_schema,
    make_schema,
    resolve,
    setting,
    summarise,
)

Label = Annotated[str, form(format="label")]
Limit = Annotated[int, form(name="limit", maximum=9)]
Names = Annotated[
    tuple[str, ...],
    form(
        written=str | Annotated[tuple[str, ...], form(minItems=1)],
        parse=lambda plain: (plain,) if isinstance(plain, str) else tuple(plain),
    ),
]


@dataclass(frozen=True, slots=True)
class Inner:
    """Something inside."""

    seconds: Annotated[float, setting("How long.", exclusiveMinimum=0)] = 2.0


@dataclass(frozen=True, slots=True)
class Declared:
    """What it is.

    And more, which no editor needs.
    """

    names: Annotated[Names, setting("Which.", names="node")]
    cpu_milli: Annotated[Cpu, setting("CPU.", key="cpu")]
    word: Annotated[Literal["b", "a"], setting("A choice.")] = "b"
    limit: Annotated[Limit | None, setting("At most.", minimum=1)] = None
    inner: Annotated[Inner, setting("Inside.")] = field(default_factory=Inner)
    derived: int = 7


@dataclass(frozen=True, slots=True)
class Outer:
    """An object with another's settings beside its own, and any further keys."""

    inner: Annotated[Inner, setting("How.", beside=True)]
    count: Annotated[int, setting("How many.")] = 1
    has: Annotated[Mapping[str, Limit], setting("Others.", rest=True)] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class Item:
    """What depends on the case."""

    size: Annotated[
        int,
        setting(
            "How large.",
            cases={
                "by day": setting("", minimum=2),
                "by night": setting("So.", required=True),
            },
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class InCases:
    """Settings of which some have a meaning in one case only."""

    sun: Annotated[str, setting("Which.", only="by day", required=True)] = ""
    moon: Annotated[str, setting("Which.", only="by night")] = ""
    items: Annotated[tuple[Item, ...], setting("What.")] = ()


def test_the_schema_follows_from_types_defaults_and_keywords() -> None:
    """A field that is no setting has no place in a file."""
    assert collect_definitions(make_object_schema(Declared)) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["names", "cpu"],
        "properties": {
            "names": {
                "description": "Which.",
                "anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                ],
            },
            "cpu": {
                "description": "CPU.",
                "type": ["string", "number"],
                "format": "cpu",
            },
            "word": {"description": "A choice.", "enum": ["b", "a"], "default": "b"},
            "limit": {
                "description": "At most.",
                "$ref": "#/$defs/limit",
                "minimum": 1,
            },
            "inner": {
                "description": "Inside.",
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "seconds": {
                        "description": "How long.",
                        "type": "number",
                        "default": 2,
                        "exclusiveMinimum": 0,
                    }
                },
            },
        },
        "$defs": {"limit": {"type": "integer", "maximum": 9}},
    }


WHOLE, TEXT = {"type": "integer"}, {"type": "string"}
LABEL = {**TEXT, "format": "label"}
PAIR = {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}
BY_LABEL = {"propertyNames": {"format": "label"}, "additionalProperties": WHOLE}
ONLY_A_AND_B = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"a": WHOLE, "b": WHOLE},
}
ONLY = form(without=("names", "cpu", "word", "inner"), required=None)
LIMITED = {"limit": make_schema(Annotated[Limit, setting("At most.", minimum=1)])}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Any, {}),
        (tuple[Label, ...], {"type": "array", "items": LABEL}),
        (tuple[int, int], PAIR),
        (Mapping[str, object], {"type": "object"}),
        (Mapping[Label, int], {"type": "object", **BY_LABEL}),
        (Mapping[Literal["a", "b"], int], ONLY_A_AND_B),
        (int | str, {"type": ["integer", "string"]}),
        (int | Literal["all"], {"anyOf": [WHOLE, {**TEXT, "enum": ["all"]}]}),
        (
            Annotated[Declared, ONLY],
            {"type": "object", "additionalProperties": False, "properties": LIMITED},
        ),
    ],
)
def test_every_type_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    """Lists, pairs, mappings with any or with chosen keys, and unions."""
    assert make_schema(hint) == schema


def test_settings_of_another_object_stand_beside_and_further_keys_are_kept() -> None:
    """Such an object is open: whatever it does not know is kept as it stands."""
    schema = collect_definitions(make_object_schema(Outer))

    assert list(schema["properties"]) == ["seconds", "count"]
    assert schema["additionalProperties"] == {"$ref": "#/$defs/limit"}
    read = make_object(Outer, {"seconds": 3, "count": 2, "more": 4})
    assert read == Outer(Inner(3.0), 2, {"more": 4})


def test_each_case_has_what_only_it_knows() -> None:
    """In the other case that has no place, and is not asked for."""
    assert "required" not in make_object_schema(InCases)
    assert make_case_schema(InCases, "by day") == {
        "required": ["sun"],
        "properties": {
            "sun": {"description": "Which."},
            "moon": {"not": {}},
            "items": {"items": {"properties": {"size": {"minimum": 2}}}},
        },
    }
    size = {"description": "So."}
    assert make_case_schema(InCases, "by night")["properties"] == {
        "sun": {"not": {}},
        "items": {"items": {"required": ["size"], "properties": {"size": size}}},
    }


def test_a_definition_can_be_read_in_its_place() -> None:
    """Whoever looks a word up need not look another one up."""
    whole = resolve(make_schema(Annotated[Limit, setting("At most.")]))

    assert whole == {"description": "At most.", "type": "integer", "maximum": 9}


def test_two_definitions_of_one_name_are_refused() -> None:
    """One of them would be lost."""
    other = Annotated[str, form(name="limit")]

    with pytest.raises(ValueError, match="two definitions of 'limit'"):
        collect_definitions({"a": make_schema(Limit), "b": make_schema(other)})


def test_values_are_read_as_their_types_say() -> None:
    """One name is a list of one; what is left out has its default."""
    read = make_object(Declared, {"names": "a", "cpu": "250m", "inner": {"seconds": 3}})

    assert read == Declared(("a",), 250, inner=Inner(3.0))


@dataclass(frozen=True, slots=True)
class Many:
    """Values in values."""

    amounts: Annotated[Mapping[str, Cpu], setting("By name.")]
    inner: Annotated[tuple[Inner, ...], setting("Some.")] = ()


def test_values_in_lists_and_mappings_are_read_too() -> None:
    """A part that had to be left out leaves a gap, so that the others keep places."""
    read = make_object(
        Many, {"amounts": {"a": "1"}, "inner": [{}, None, {"seconds": 1}]}
    )

    assert read == Many({"a": 1000}, (Inner(), None, Inner(1.0)))  # type: ignore[arg-type]


def test_a_word_that_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        make_object(Inner, {"colour": "red"})


def test_the_first_paragraph_is_the_description() -> None:
    assert summarise(Declared) == "What it is."
