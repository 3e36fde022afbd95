"""What odd objects are made of: amounts, labels, selectors, drawn one by one."""

from __future__ import annotations

import random
from typing import Any

ZERO = "0"
HUGE = ("9223372036854775807", "7Ei", "1e18")
"""At the end of what 64 bits hold: no node has as much."""
HUGE_CPU = "9223372036854775"
"""The same for what is counted in thousandths."""
BEYOND = ("9223372036854775807k", "1e30", "9223372036854775808000")
"""More than 64 bits hold. The stock scheduler reads the last of their bits, as nothing
or less, and would bind a pod that asks for it: such a pod must not get so far."""
TINY_CPU = (ZERO, "1n", "1u", "1m")
LONGEST_WORD = 63
TOPOLOGIES = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "example.com/nowhere",
)


def huge(rng: random.Random, resource: str = "memory") -> str:
    """Return an amount that no node has."""
    return HUGE_CPU if resource == "cpu" else rng.choice(HUGE)


def resources(amount: str, *names: str) -> dict[str, Any]:
    """Return requests and equal limits, as extended resources need them."""
    amounts = dict.fromkeys(names, amount)
    return {"requests": amounts, "limits": dict(amounts)}


def nothing() -> dict[str, Any]:
    """Return requests for nothing, beside limits that would else stand for them."""
    return {
        "requests": {"cpu": ZERO, "memory": ZERO},
        "limits": {"memory": BEYOND[0]},
    }


def labels(rng: random.Random, most: int) -> dict[str, str]:
    """Return up to so many labels, some of them as long as they may be."""
    many = rng.randint(1, most)
    return {
        f"example.com/{number}-{'k' * rng.choice((1, 40))}": word(rng)
        for number in range(many)
    }


def word(rng: random.Random) -> str:
    """Return a label's value."""
    return rng.choice(("", "1", "0", "true", "W" * LONGEST_WORD, "a.b_c-d"))


def selector(rng: random.Random) -> dict[str, Any]:
    """Return a label selector: of all, of none, or in thousands of words."""
    many = [f"v{number}" for number in range(rng.randint(1, 2000))]
    return rng.choice(
        (
            {},
            {"matchExpressions": [_demand("example.com/odd", "In", many)]},
            {"matchExpressions": [_demand("example.com/odd", "NotIn", many)]},
            {
                "matchExpressions": [
                    _demand("example.com/odd", "Exists"),
                    _demand("example.com/odd", "DoesNotExist"),
                ]
            },
            {"matchLabels": labels(rng, 100)},
        )
    )


def node_term(rng: random.Random) -> dict[str, Any]:
    """Return a term of a node selector that holds for hardly any node."""
    many = [f"v{number}" for number in range(rng.randint(1, 2000))]
    number = rng.choice(("9223372036854775807", "0"))
    return rng.choice(
        (
            {"matchExpressions": [_demand("example.com/odd", "In", many)]},
            {"matchExpressions": [_demand("example.com/odd", "Gt", [number])]},
            {"matchExpressions": [_demand("example.com/odd", "Lt", [number])]},
            {"matchFields": [_demand("metadata.name", "In", ["nowhere"])]},
            {"matchFields": [_demand("metadata.name", "NotIn", ["nowhere"])]},
        )
    )


def _demand(key: str, operator: str, values: list[str] | None = None) -> dict[str, Any]:
    demand: dict[str, Any] = {"key": key, "operator": operator}
    return demand if values is None else {**demand, "values": values}
