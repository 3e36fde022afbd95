"""A setting is declared once: its schema and its reading follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from stowage_testbed.declaration import made, object_schema, setting, summary
from stowage_testbed.quantity import parse_cpu


@dataclass(frozen=True, slots=True)
class Inner:
    """Something inside."""

    seconds: Annotated[float, setting("How long.", exclusiveMinimum=0)] = 2.0


@dataclass(frozen=True, slots=True)
class Declared:
    """What it is.

    And more, which no editor needs.
    """

    names: Annotated[tuple[str, ...], setting("Which.", names="node")]
    cpu_milli: Annotated[
        int, setting("CPU.", key="cpu", parse=parse_cpu, type="string")
    ]
    word: Annotated[Literal["b", "a"], setting("A choice.")] = "b"
    limit: Annotated[int | None, setting("At most.", minimum=1)] = None
    inner: Annotated[Inner, setting("Inside.")] = field(default_factory=Inner)
    derived: int = 7


def test_the_schema_follows_from_types_defaults_and_keywords() -> None:
    """A field that is no setting has no place in a file."""
    assert object_schema(Declared) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["names", "cpu"],
        "properties": {
            "names": {"description": "Which.", "$ref": "#/$defs/names"},
            "cpu": {"description": "CPU.", "type": "string"},
            "word": {"description": "A choice.", "enum": ["b", "a"], "default": "b"},
            "limit": {"description": "At most.", "type": "integer", "minimum": 1},
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
    }


def test_values_are_read_as_their_types_say() -> None:
    """One name is a list of one; what is left out has its default."""
    read = made(Declared, {"names": "a", "cpu": "250m", "inner": {"seconds": 3}})

    assert read == Declared(("a",), 250, inner=Inner(3.0))


def test_a_word_that_is_no_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        made(Inner, {"colour": "red"})


def test_the_first_paragraph_is_the_description() -> None:
    assert summary(Declared) == "What it is."
