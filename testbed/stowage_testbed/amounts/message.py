"""Amounts of resources as the optimiser's contract has them."""

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import CPU, MEMORY, PODS, Resources

_FIELDS = {CPU: "cpu_milli", MEMORY: "memory_bytes", "ephemeral-storage": "ephemeral_storage_bytes", PODS: "pods"}
"""Resources that have a field of their own."""


def message_of(resources: Resources) -> pb.Resources:
    """Return amounts as a message."""
    return pb.Resources(
        **{field: resources[name] for name, field in _FIELDS.items()}, extended=resources.without(*_FIELDS)
    )


def resources_of(message: pb.Resources) -> Resources:
    """Return the amounts of a message; one of a pod's requests has no pods."""
    own = {name: getattr(message, field) for name, field in _FIELDS.items()}
    return Resources({**message.extended, **own})
