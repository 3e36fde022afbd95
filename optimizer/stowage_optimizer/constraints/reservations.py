"""Reservations: room that is held for others counts as used."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_optimizer.constraints.resources import Amounts, offer
from stowage_optimizer.model.snapshot import Snapshot


def held_room(
    snapshot: Snapshot, names: tuple[str, ...]
) -> Iterator[tuple[str, Amounts]]:
    """Yield the node and the amounts, by dimension, of each reservation."""
    for reservation in snapshot.reservations:
        yield reservation.node, offer(reservation.held, names)
