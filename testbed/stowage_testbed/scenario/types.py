"""Types of what files say: how a value is written, and what makes the value of it.

Files are read into frozen dataclasses with the limits of `annotated_types`; the text below a field describes it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval, Le, MinLen
from pydantic_core import PydanticCustomError, core_schema

from stowage_testbed.amounts.resources import CPU, MEMORY, amount, parse
from stowage_testbed.cluster.feature_gates import GATE, GROUP_VERSION
from stowage_testbed.scenario.expression import Expression

LONGEST_LABEL = 63


# Compared by identity: types with it have a hash then, which unions of them need.
@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """The type of what stands in a file, and what makes the value of that."""

    form: Any
    parse: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        del source
        return core_schema.no_info_after_validator_function(self.parse, handler.generate_schema(self.form))


@dataclass(frozen=True, slots=True)
class Hidden:
    """A field that is no setting: no file can have it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        del source, handler
        return core_schema.no_info_plain_validator_function(_refuse, json_schema_input_schema=core_schema.any_schema())


def _refuse(value: Any) -> Any:
    del value
    raise PydanticCustomError("unexpected_keyword_argument", "it is no setting")


Sort = Literal["applied", "controller", "template", "pods", "phased", "described", "node", "checkpoint"]
"""What a name must be of.

applied: a workload or object. controller: a workload that is applied. template: one that pods are made like. pods:
whatever has pods. phased: what has a phase. described: what has events.
"""


@dataclass(frozen=True, slots=True)
class Of:
    """A text is the name of something of this sort."""

    sort: Sort


LABEL = re.compile(rf"(?=.{{1,{LONGEST_LABEL}}}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?")  # A DNS label
SCENARIO_NAME = re.compile(r"[a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9]*")  # A topic and a behaviour
_RESOURCE = r"[a-z0-9]([-._a-zA-Z0-9/]*[a-zA-Z0-9])?"


def _like(pattern: str | re.Pattern[str], must: str, make: Callable[[str], Any] = str) -> Written:
    def check(text: str) -> Any:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"must be {must}; not the text {text!r}")
        return make(text)

    return Written(str, check)


def _amount_of(name: str, least: int = 0) -> Written:
    def check(quantity: str | float) -> int:
        found = parse(name, quantity)
        if found < least:
            raise ValueError(f"must be more than 0, not {quantity}")
        return found

    return Written(str | float, check)


def _quantity(text: str | float) -> str | float:
    if amount(text) < 0:
        raise ValueError(f"{text!r} is negative; write 0 or more")
    return text


def key_of(field: str) -> str:
    """Return the word in a file for a field; one that is a word of Python has a `_` at its end."""
    return field.rstrip("_")


READ = {"extra": "forbid", "strict": True, "alias_generator": key_of}
"""How a whole file is read, as pydantic is told in its ``__pydantic_config__``."""


Filled = Annotated[str, MinLen(1)]
Label = Annotated[
    str, _like(LABEL, f"of lower-case letters, digits and '-', at most {LONGEST_LABEL} long, as in web-1")
]
ScenarioName = Annotated[str, _like(SCENARIO_NAME, "a topic and a behaviour, as in paper/figure-1")]
ParameterName = Annotated[str, _like(r"[a-z][a-z0-9_]*", "of lower-case letters, digits and '_', as in pods_per_node")]
MetricName = Annotated[str, _like(r"[a-z][-a-zA-Z0-9_./]*", "as Stowage names it, such as t_sched_p99_s")]
Resource = Annotated[str, _like(rf"(?!pods\Z){_RESOURCE}", "a resource besides pods, as in nvidia.com/gpu")]
Further = Annotated[
    str, _like(rf"(?!(cpu|memory|pods)\Z){_RESOURCE}", "a resource besides cpu, memory and pods, as in nvidia.com/gpu")
]
GateName = Annotated[str, _like(GATE, "the name of a feature gate, as in GenericWorkload")]
GroupVersion = Annotated[str, _like(GROUP_VERSION, "a version of an API group, as in scheduling.k8s.io/v1beta1")]
LabelKey = Annotated[
    str,
    _like(
        r"([a-z0-9][-.a-z0-9]*/)?[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?",
        "the key of a label, as in topology.kubernetes.io/zone",
    ),
]
Priority = Annotated[int, _like(r"-?(0|[1-9]\d{0,9})", "a whole number, as in 10", int)]
Cpu = Annotated[int, _amount_of(CPU)]  # Milli-CPU
Memory = Annotated[int, _amount_of(MEMORY)]  # Bytes, or an amount of another resource in its own whole units
SomeCpu = Annotated[int, _amount_of(CPU, 1)]
SomeMemory = Annotated[int, _amount_of(MEMORY, 1)]
Quantity = Annotated[str | float, Written(str | int | float, _quantity)]  # An amount of any resource, as it is written
Count = Annotated[int, Ge(0)]
Some = Annotated[int, Ge(1)]
Counts = Mapping[str, Count]  # How many there are, by name
Seed = Annotated[int, Interval(ge=0, le=2**64 - 1)]
Share = Annotated[float, Interval(ge=0, le=1)]
Change = Annotated[float, Interval(ge=-1, le=1)]
Seconds = Annotated[float, Gt(0), Le(36000)]  # A deadline in seconds
Stable = Annotated[float, Interval(ge=0, le=600)]
Anything = Mapping[str, Any]
Texts = Mapping[str, str]


def _names(written: str | tuple[str, ...]) -> tuple[str, ...]:
    names = (written,) if isinstance(written, str) else written
    if len(set(names)) < len(names):
        raise ValueError("names a word twice; keep one")
    return names


Names = Annotated[tuple[str, ...], Written(Filled | Annotated[tuple[Filled, ...], MinLen(1)], _names)]
"""One name, or some."""
NodeNames = Annotated[Names, Of("node")]
AppliedNames = Annotated[Names, Of("applied")]
WrittenExpression = Annotated[Expression, Written(Filled, Expression)]
