"""Pods that no plan concerns: they come and go at a rate, or come all at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

from benchmarks.live.cluster import (
    LIVE,
    all_at_once,
    tiny_pod,
    too_slow,
)
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.receipt import ReceiptClock
from stowage_testbed.run.steps.pacing import Due, Pacer

LIFE_S = 10.0
"""How long a pod of a churn stays: most have a node long before."""

ALLOWED_S = 60.0


@contextmanager
def churning(
    objects: Objects, prefix: str, events_per_s: int, clock: ReceiptClock
) -> Iterator[None]:
    """Create and delete pods for the block, so many of both together a second."""
    if not events_per_s:
        yield
        return
    over = threading.Event()
    failed: list[StowageError] = []

    def churn() -> None:
        dues = _churn(objects, prefix, events_per_s, over)
        try:
            Pacer(clock, ALLOWED_S, too_slow, pause=over.wait).run(dues)
        except StowageError as error:
            failed.append(error)

    thread = threading.Thread(target=churn, name="churn", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise failed[0]


def burst(objects: Objects, prefix: str, pods: int) -> None:
    """Create so many pods as fast as the API server takes them."""
    all_at_once(objects.create, (tiny_pod(f"{prefix}-{n:05}") for n in range(pods)))


def _churn(
    objects: Objects, prefix: str, events_per_s: int, over: threading.Event
) -> Iterator[Due]:
    alive = int(LIFE_S * events_per_s / 2)
    for number in count():
        if over.is_set():
            return
        at_s = 2 * number / events_per_s
        name = f"{prefix}-{number:06}"
        yield Due(at_s, name, partial(objects.create, tiny_pod(name)))
        if number >= alive:
            old = f"{prefix}-{number - alive:06}"
            yield Due(at_s, old, partial(_delete, objects, old))


def _delete(objects: Objects, name: str) -> None:
    objects.delete("Pod", name, namespace=LIVE, at_once=True)
