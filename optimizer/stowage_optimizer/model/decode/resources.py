"""Decoding amounts."""

from __future__ import annotations

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Resources,
)

LARGEST_AMOUNT = 2**60
"""The solver's own 64-bit arithmetic must not overflow."""

_NAMES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


def decode_resources(where: str, message: pb.Resources, issues: Issues) -> Resources:
    """Return the amounts of ``message``; amounts out of range are issues."""
    amounts = (
        message.cpu_milli,
        message.memory_bytes,
        message.ephemeral_storage_bytes,
        message.pods,
    )
    # Nearly all are sound: where they stand is spelled out for the others only.
    if min(amounts) < 0 or max(amounts) > LARGEST_AMOUNT:
        for name, amount in zip(_NAMES, amounts, strict=True):
            _check(f"{where}.{name}", amount, issues)
    extended = dict(message.extended) if len(message.extended) else {}
    for name, amount in extended.items():
        issues.require(f"{where}.extended", name)
        _check(f"{where}.extended[{name}]", amount, issues)
        if name in _NAMES:
            issues.add(f"{where}.extended[{name}]", "has a field of its own")
    return Resources(*amounts, extended)


def within_range(message: pb.Resources) -> Resources:
    """Return the amounts of ``message``, those out of range at the range's end."""

    def clip(amount: int) -> int:
        return min(max(0, amount), LARGEST_AMOUNT)

    return Resources(
        clip(message.cpu_milli),
        clip(message.memory_bytes),
        clip(message.ephemeral_storage_bytes),
        clip(message.pods),
        {
            name: clip(amount)
            for name, amount in message.extended.items()
            if name and name not in _NAMES
        },
    )


def _check(where: str, amount: int, issues: Issues) -> None:
    if amount < 0:
        issues.add(where, f"is negative ({amount})")
    elif amount > LARGEST_AMOUNT:
        issues.add(where, f"is {amount}, above the largest amount {LARGEST_AMOUNT}")
