"""A container that ends again and again is told from one that others have ended."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from stowage_testbed.helm.diagnosis import RESTARTS, CrashLoop
from stowage_testbed.helm.release import Release


def _pod(uid: str, restarts: int, *, ready: bool = False) -> Any:
    status = SimpleNamespace(name="scheduler", ready=ready, restart_count=restarts)
    return SimpleNamespace(
        metadata=SimpleNamespace(uid=uid),
        status=SimpleNamespace(container_statuses=[status]),
    )


def _looks(*pods: Any) -> Iterator[bool]:
    """Look once at each pod, as the newest one of a release."""
    newest = iter(pods)
    loop = CrashLoop(cast("Release", SimpleNamespace(pods=lambda: [next(newest)])))
    return (loop.found() for _ in pods)


def test_a_container_that_ends_again_and_again_is_found() -> None:
    """Nobody should wait for the whole time limit to learn that it is in vain."""
    looks = [_pod("new", ended) for ended in range(RESTARTS + 1)]

    assert list(_looks(*looks)) == [False] * RESTARTS + [True]


def test_what_was_restarted_before_the_change_is_no_crash_loop() -> None:
    """Faults end the old pod's containers often; it goes while the new one comes."""
    old = _pod("old", 20)

    assert list(_looks(old, old, _pod("new", 0))) == [False, False, False]
