"""One solve at a time: order of arrival, a bounded queue, no call stuck."""

from __future__ import annotations

import threading

import pytest

from stowage_optimizer.service.errors import CallRefusedError
from stowage_optimizer.service.turns import Turns

STAYS = threading.Event()


def test_a_free_turn_is_taken_at_once_even_without_a_queue() -> None:
    """A queue of length 0 means that no call waits, not that none is served."""
    Turns(0).take(0, STAYS)


def test_who_finds_the_queue_full_is_refused() -> None:
    """Memory and patience are bounded (R21)."""
    turns = Turns(0)
    turns.take(0, STAYS)

    with pytest.raises(CallRefusedError, match="calls wait already"):
        turns.take(10, STAYS)


def test_who_waits_longer_than_the_own_limit_is_refused() -> None:
    """The limit is that of the whole call."""
    turns = Turns(1)
    turns.take(0, STAYS)

    with pytest.raises(CallRefusedError, match=r"0\.01 s"):
        turns.take(0.01, STAYS)


def test_a_turn_given_back_goes_to_the_next() -> None:
    """And to one of them only."""
    turns = Turns(1)
    turns.take(0, STAYS)
    waiting = threading.Thread(target=turns.take, args=(10, STAYS))
    waiting.start()

    turns.give_back()
    waiting.join(10)

    assert not waiting.is_alive()
    with pytest.raises(CallRefusedError, match="still running"):
        turns.take(0.01, STAYS)


def test_who_leaves_the_queue_makes_room() -> None:
    """A client that went away must not hold a place."""
    turns = Turns(1)
    turns.take(0, STAYS)
    left = threading.Event()
    ends: list[str] = []

    def wait() -> None:
        try:
            turns.take(10, left)
        except CallRefusedError as error:
            ends.append(error.status)

    waiting = threading.Thread(target=wait)
    waiting.start()
    left.set()
    turns.wake()
    waiting.join(10)

    assert ends == ["CANCELLED"]
    with pytest.raises(CallRefusedError, match="still running"):
        turns.take(0.01, STAYS)
