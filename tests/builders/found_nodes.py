"""Nodes that could be emptied, as they are found on clusters of any size."""

from __future__ import annotations

from decimal import Decimal

from stowage_testbed.whatif.findings import (
    Emptied,
    Emptying,
    KeptInUse,
    Move,
    NotJudged,
    Savings,
)

LONG = "n" * 253


def one_emptied() -> Emptying:
    """Return what is found where one of two nodes can be emptied."""
    return Emptying(
        in_use=2, in_use_after=1, fewest=1, idle=(Emptied("n3", 0, None),),
        emptied=(Emptied("n1", 1, Decimal("0.384")),), filled=(),
        moves=(Move("ns/a", "n1", "n2"),), kept=(), pending=0,
        savings=Savings(
            "USD", Decimal("0.768"), Decimal(), Decimal("0.384"), Decimal("280.320"),
            Decimal("0.5"), (("n3", "no label price"),),
        ),
        not_judged=(),
    )  # fmt: skip


def many_emptied(number: int) -> Emptying:
    """Return more of everything, and larger, than any cluster has."""
    many, amount = range(number), Decimal(10) ** 8
    nodes = tuple(Emptied(f"{LONG}{k}", 10**5, amount) for k in many)
    return Emptying(
        in_use=10**6, in_use_after=10, fewest=1, idle=nodes, emptied=nodes,
        filled=nodes, moves=tuple(Move(f"{LONG}{k}", LONG, LONG) for k in many),
        kept=tuple(KeptInUse(f"{LONG}{k}", 10**6, amount, LONG) for k in many),
        pending=10**6,
        savings=Savings(
            LONG, amount, amount, amount, amount, amount,
            tuple((f"{LONG}{k}", LONG) for k in many),
        ),
        not_judged=tuple(NotJudged(f"{LONG}{k}", LONG, LONG) for k in many),
    )  # fmt: skip
