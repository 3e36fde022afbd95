"""A web service under a closed loop of clients, simulated request by request.

Shares nothing with the model but its assumptions: replicas that share their rate
equally among their requests, a replica picked at random for each request, and clients
that send the next request as soon as they have an answer.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

WARM_UP = 10
"""One in so many of the first requests is left out: the network starts empty."""


@dataclass(frozen=True)
class Simulated:
    """Latencies in seconds, sorted."""

    latencies_s: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return sum(self.latencies_s) / len(self.latencies_s)

    def quantile_s(self, rank: float) -> float:
        return self.latencies_s[int(rank * len(self.latencies_s))]


def simulate(
    clients: int, replicas: int, mean_s: float, stages: int, *, requests: int, seed: int
) -> Simulated:
    """Run until so many requests have ended."""
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    # A replica's own time runs as fast as each of its requests is served.
    own_s = [0.0] * replicas
    busy: list[list[tuple[float, float]]] = [[] for _ in range(replicas)]
    now_s = 0.0
    ended: list[float] = []

    def send() -> None:
        at = rng.randrange(replicas)
        work_s = rng.gammavariate(stages, mean_s / stages)
        busy[at].append((own_s[at] + work_s, now_s))

    for _ in range(clients):
        send()
    while len(ended) < requests:
        step_s, at = min(
            ((min(here)[0] - own_s[i]) * len(here), i)
            for i, here in enumerate(busy)
            if here
        )
        for i, here in enumerate(busy):
            if here:
                own_s[i] += step_s / len(here)
        now_s += step_s
        first = min(busy[at])
        busy[at].remove(first)
        ended.append(now_s - first[1])
        send()
    return Simulated(tuple(sorted(ended[requests // WARM_UP :])))
