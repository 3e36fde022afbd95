"""Node pools from one short line: ``count=3,cpu=4,memory=8Gi,label.zone=a``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from stowage_testbed.amounts.quantity import QuantityError, parse_count
from stowage_testbed.amounts.resources import CPU, MEMORY, MOST_PODS, PODS, Resources, parse
from stowage_testbed.cluster.node_pool import Effect, NodePool, NodePoolError, Taint

_EFFECTS = get_args(Effect)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,40}[a-z0-9])?")
_KEYS = "prefix, count, cpu, memory, pods, zones, label.KEY, taint.KEY, resource.NAME"


@dataclass(slots=True)
class _Draft:
    """What has been read of one spec so far."""

    prefix: str = "node"
    count: int = 1
    resources: dict[str, int] = field(default_factory=lambda: {PODS: MOST_PODS})
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Taint] = field(default_factory=list)
    zones: tuple[str, ...] = ()
    issues: list[str] = field(default_factory=list)


def parse_node_specs(specs: Sequence[str]) -> list[NodePool]:
    """Return the pools of several specs, in order.

    Raises
    ------
    NodePoolError
        A spec is malformed, or two pools have one name.
    """
    pools: list[NodePool] = []
    for spec in specs:
        pool = parse_node_spec(spec)
        if pool.name_prefix in {other.name_prefix for other in pools}:
            issue = f"a second pool is called {pool.name_prefix!r}; give it a prefix=NAME"
            raise _malformed(spec, [issue])
        pools.append(pool)
    return pools


def parse_node_spec(spec: str) -> NodePool:
    """Return the pool that a spec describes.

    ``count`` is 1 unless given, ``cpu`` and ``memory`` must be given.

    Raises
    ------
    NodePoolError
        The spec is malformed; the message names every issue.
    """
    draft = _Draft()
    seen: set[str] = set()
    for part in filter(None, (part.strip() for part in spec.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            draft.issues.append(f"{part!r} is not KEY=VALUE")
        elif key in seen:
            draft.issues.append(f"{key} is given twice")
        else:
            _read(draft, key, value)
        seen.add(key)
    draft.issues += [f"{key} is missing" for key in ("cpu", "memory") if key not in seen]
    if draft.issues:
        raise _malformed(spec, draft.issues)
    try:
        return NodePool(
            name_prefix=draft.prefix,
            count=draft.count,
            resources=Resources(draft.resources),
            labels=draft.labels,
            taints=tuple(draft.taints),
            zones=draft.zones,
        )
    except NodePoolError as error:
        raise _malformed(spec, error.issues) from error


def _malformed(spec: str, issues: Sequence[str]) -> NodePoolError:
    way_out = ". Write for example: count=3,cpu=4,memory=8Gi,zones=a|b"
    return NodePoolError(f"--nodes {spec!r}", issues, way_out)


def _read(draft: _Draft, key: str, value: str) -> None:
    kind, _, name = key.partition(".")
    if key == "count":
        draft.count = _size(draft, key, value, parse_count)
    elif key in (CPU, MEMORY, PODS):
        draft.resources[key] = _size(draft, key, value, partial(parse, key))
    elif key == "zones":
        draft.zones = tuple(filter(None, value.split("|")))
    elif key == "prefix" and _NAME.fullmatch(value):
        draft.prefix = value
    elif key == "prefix":
        draft.issues.append(f"prefix={value!r} cannot begin a node's name")
    elif kind == "label" and name:
        draft.labels[name] = value
    elif kind == "taint" and name:
        _read_taint(draft, name, value)
    elif kind == "resource" and name:
        draft.resources[name] = _size(draft, key, value, partial(parse, name))
    else:
        draft.issues.append(f"{key!r} is none of {_KEYS}")


def _size(draft: _Draft, key: str, value: str, parse: Callable[[str], int]) -> int:
    try:
        size = parse(value)
    except QuantityError as error:
        draft.issues.append(f"{key}: {error}")
        return 1
    if size < 1:
        draft.issues.append(f"{key}: {value!r} must be more than 0")
    return size


def _read_taint(draft: _Draft, key: str, text: str) -> None:
    value, _, effect = text.rpartition(":")
    if effect in _EFFECTS:
        draft.taints.append(Taint(key, effect, value))
    else:
        draft.issues.append(f"taint.{key}: {text!r} must end in an effect, one of {', '.join(_EFFECTS)}")
