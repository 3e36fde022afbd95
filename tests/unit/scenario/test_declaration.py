"""A setting is declared once: its schema and its reading follow.

What the schema of all settings is, the committed one shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from stowage_testbed.amounts.quantity import Cpu
from stowage_testbed.declaration import (
    collect_definitions,
    form,
    make_object,
    make_object_schema,
    make_schema,
    setting,
)

Label = Annotated[str, form(format="label")]
Limit = Annotated[int, form(name="limit", maximum=9)]


@dataclass(frozen=True, slots=True)
class Inner:
    """Something inside."""

    seconds: Annotated[float, setting("How long.", exclusiveMinimum=0)] = 2.0


@dataclass(frozen=True, slots=True)
class Outer:
    """An object with another's settings beside its own, and any further keys."""

    inner: Annotated[Inner, setting("How.", beside=True)]
    cpu_milli: Annotated[Cpu, setting("CPU.", key="cpu")] = 0
    inners: Annotated[tuple[Inner, ...], setting("Inside.")] = ()
    amounts: Annotated[Mapping[str, Cpu] | None, setting("By name.")] = None
    has: Annotated[Mapping[str, Limit], setting("Others.", rest=True)] = field(
        default_factory=dict
    )
    derived: int = 7


WHOLE, TEXT = {"type": "integer"}, {"type": "string"}
LABEL = {**TEXT, "format": "label"}
PAIR = {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}
BY_LABEL = {"propertyNames": {"format": "label"}, "additionalProperties": WHOLE}
CLOSED = {"type": "object", "additionalProperties": False}
A_AND_B = {**CLOSED, "properties": {"a": WHOLE, "b": WHOLE}}


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Any, {}),
        (tuple[Label, ...], {"type": "array", "items": LABEL}),
        (tuple[int, int], PAIR),
        (Mapping[str, object], {"type": "object"}),
        (Mapping[Label, int], {"type": "object", **BY_LABEL}),
        (Mapping[Literal["a", "b"], int], A_AND_B),
        (int | str, {"type": ["integer", "string"]}),
        (int | Literal["all"], {"anyOf": [WHOLE, {**TEXT, "enum": ["all"]}]}),
    ],
)
def test_every_type_has_its_schema(hint: Any, schema: dict[str, Any]) -> None:
    """Lists, pairs, mappings with any or with chosen keys, and unions."""
    assert make_schema(hint) == schema


def test_settings_of_another_object_stand_beside_and_further_keys_are_kept() -> None:
    """A part that had to be left out leaves a gap, so that the others keep places."""
    schema = collect_definitions(make_object_schema(Outer))
    gap: Any = (Inner(), None, Inner(1.0))
    plain = {"seconds": 3, "cpu": "250m", "inners": [{}, None, {"seconds": 1}]}
    read = make_object(Outer, {**plain, "amounts": {"a": "1"}, "more": 4})

    assert list(schema["properties"]) == ["seconds", "cpu", "inners", "amounts"]
    assert schema["additionalProperties"] == {"$ref": "#/$defs/limit"}
    assert read == Outer(Inner(3.0), 250, gap, {"a": 1000}, {"more": 4})


def test_what_would_be_lost_is_refused() -> None:
    """A word that is no setting, and the second definition of a name."""
    other = Annotated[str, form(name="limit")]

    with pytest.raises(TypeError, match="colour"):
        make_object(Inner, {"colour": "red"})
    with pytest.raises(ValueError, match="two definitions of 'limit'"):
        collect_definitions({"a": make_schema(Limit), "b": make_schema(other)})
