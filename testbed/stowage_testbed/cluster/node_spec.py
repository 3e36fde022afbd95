"""Node pools as YAML: on the command line in flow style, or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from stowage_testbed.amounts.quantity import QuantityError
from stowage_testbed.amounts.resources import CPU, MEMORY, MOST_PODS, PODS, Resources, parse
from stowage_testbed.cluster.node_pool import Effect, NodePool, NodePoolError, Taint

EXAMPLE = "{prefix: gpu, count: 3, cpu: 4, memory: 8Gi, zones: [a, b]}"
_STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)


def _amount(name: str, quantity: Any) -> int:
    try:
        amount = parse(name, quantity)
    except QuantityError as error:
        raise ValueError(str(error)) from error
    if amount < 1:
        raise ValueError(f"{quantity!r} must be more than 0")
    return amount


class _Taint(BaseModel):
    model_config = _STRICT
    key: Annotated[str, Field(min_length=1)]
    effect: Effect
    value: str = ""


class _Pool(BaseModel):
    model_config = _STRICT
    prefix: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,40}[a-z0-9])?$")] = "node"
    count: Annotated[int, BeforeValidator(partial(_amount, "count"))] = 1
    cpu: Annotated[int, BeforeValidator(partial(_amount, CPU))]
    memory: Annotated[int, BeforeValidator(partial(_amount, MEMORY))]
    pods: Annotated[int, BeforeValidator(partial(_amount, PODS))] = MOST_PODS
    resources: dict[str, Any] = {}
    labels: dict[str, str] = {}
    taints: list[_Taint] = []
    zones: list[str] = []

    @field_validator("resources")
    @classmethod
    def _amounts(cls, resources: dict[str, Any]) -> dict[str, int]:
        return {name: _amount(name, quantity) for name, quantity in resources.items()}

    def made(self) -> NodePool:
        return NodePool(
            name_prefix=self.prefix,
            count=self.count,
            resources=Resources({**self.resources, CPU: self.cpu, MEMORY: self.memory, PODS: self.pods}),
            labels=self.labels,
            taints=tuple(Taint(one.key, one.effect, one.value) for one in self.taints),
            zones=tuple(self.zones),
        )


def parse_node_specs(specs: Sequence[str]) -> list[NodePool]:
    """Return the pools of several specs, in order.

    A spec is one pool or a list of pools, as in ``{count: 3, cpu: 4, memory: 8Gi}``, with or without the outer braces,
    or the name of a file with either. ``count`` is 1 unless given, ``cpu`` and ``memory`` must be given.
    """
    pools: list[NodePool] = []
    for spec in specs:
        for pool in _read(spec):
            if pool.name_prefix in {other.name_prefix for other in pools}:
                raise _malformed(spec, [f"a second pool is called {pool.name_prefix!r}; give it a `prefix: NAME`"])
            pools.append(pool)
    return pools


def _read(spec: str) -> Iterator[NodePool]:
    text = spec.strip()
    is_file = text.endswith((".yaml", ".yml"))
    try:
        if is_file:
            text = Path(text).read_text(encoding="utf-8-sig")
        elif not text.startswith(("{", "[")):
            text = f"{{{text}}}"
        found = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _malformed(spec, [" ".join(str(error).split())]) from error
    for number, one in enumerate(found if isinstance(found, list) else [found]):
        place = f"pool {number}: " if isinstance(found, list) else ""
        try:
            yield _Pool.model_validate(one).made()
        except ValidationError as error:
            raise _malformed(spec, [place + _in_words(issue) for issue in error.errors()]) from error
        except NodePoolError as error:
            raise _malformed(spec, [place + issue for issue in error.issues]) from error


def _in_words(issue: Any) -> str:
    where = ".".join(map(str, issue["loc"]))
    match issue["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where!r} is none of {', '.join(_Pool.model_fields)}"
        case "value_error":
            return f"{where}: {issue['ctx']['error']}"
        case _:
            return f"{where or 'it'}: {issue['msg']}, not {issue['input']!r}"


def _malformed(spec: str, issues: Sequence[str]) -> NodePoolError:
    return NodePoolError(f"--nodes {spec!r}", issues, f". Write YAML, for example: {EXAMPLE}")
