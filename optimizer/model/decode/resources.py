"""Decoding amounts."""

from __future__ import annotations

from optimizer.contract import optimizer_pb2 as pb
from optimizer.model.decode.faults import Faults
from optimizer.model.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    Resources,
)

LARGEST_AMOUNT = 2**60
"""The solver's own 64-bit arithmetic must not overflow."""


def decode_resources(where: str, message: pb.Resources, faults: Faults) -> Resources:
    """Return the amounts of ``message``; amounts out of range are faults."""
    for name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS):
        _check(f"{where}.{name}", getattr(message, name), faults)
    for name, amount in message.extended.items():
        faults.require(f"{where}.extended", name)
        _check(f"{where}.extended[{name}]", amount, faults)
        if name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS):
            faults.add(f"{where}.extended[{name}]", "has a field of its own")
    return Resources(
        cpu_milli=message.cpu_milli,
        memory_bytes=message.memory_bytes,
        ephemeral_storage_bytes=message.ephemeral_storage_bytes,
        pods=message.pods,
        extended=dict(message.extended),
    )


def _check(where: str, amount: int, faults: Faults) -> None:
    if amount < 0:
        faults.add(where, f"is negative ({amount})")
    elif amount > LARGEST_AMOUNT:
        faults.add(where, f"is {amount}, above the largest amount {LARGEST_AMOUNT}")
