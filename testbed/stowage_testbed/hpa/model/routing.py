"""How requests find a replica, and with how many others each of them shares it."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

Routing = Literal["random", "balanced"]
"""``random``: any replica with equal chance, as kube-proxy picks one.
``balanced``: the replicas' loads differ by one request at most."""


def others(routing: Routing, clients: int, replicas: int) -> tuple[float, ...]:
    """Return how probable it is that a request meets 0, 1, 2, ... others.

    Parameters
    ----------
    routing
        How the replica is picked.
    clients, replicas
        At least one of each; every client has one request under way, always.

    Returns
    -------
    tuple of float
        Sums to 1. Its mean is ``(clients - 1) / replicas`` for random routing, and for
        balanced routing the least that is possible.
    """
    if clients < 1 or replicas < 1:
        raise ValueError(f"{clients} clients and {replicas} replicas: 1 of each needed")
    if routing == "balanced":
        return _balanced(clients, replicas)
    return _random(clients, replicas)


def _random(clients: int, replicas: int) -> tuple[float, ...]:
    """Return the occupancy that an arriving request sees in a closed network.

    With equal replicas all ways to spread the other requests over them are equally
    probable (Gordon and Newell), and a request sees the network as it would be without
    itself (arrival theorem). The chance of `n` or more others is then a ratio of
    binomial coefficients, here as the product of its factors.
    """
    rest = clients - 1
    at_least = [1.0]
    for n in range(rest):
        at_least.append(at_least[-1] * (rest - n) / (rest - n + replicas - 1))
    return tuple(more - most for more, most in pairwise((*at_least, 0.0)))


def _balanced(clients: int, replicas: int) -> tuple[float, ...]:
    """Return the occupancy where every replica has its share, rounded up or down.

    Busy replicas complete equally many requests, so a request is one of a crowded
    replica as often as a busy replica is a crowded one.
    """
    share, crowded = divmod(clients, replicas)
    if share == 0:
        return (1.0,)
    probability = [0.0] * (share + 1)
    probability[share - 1] = 1 - crowded / replicas
    probability[share] = crowded / replicas
    return tuple(probability) if crowded else tuple(probability[:share])
