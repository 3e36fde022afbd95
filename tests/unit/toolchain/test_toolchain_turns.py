"""Side by side where that helps, one after the other where it would not."""

from __future__ import annotations

import threading

import pytest

from stowage_testbed.base.wait import HANG_S
from stowage_testbed.toolchain.turns import Turns, TurnsEndedError


def test_turns_come_in_the_order_of_the_names() -> None:
    """What a first run needs is built first, whichever thread comes first."""
    turns, order = Turns(["a", "b", "c"]), []

    def go(name: str) -> None:
        turns.wait(name)
        order.append(name)
        turns.done(name)

    threads = [threading.Thread(target=go, args=(name,)) for name in "cba"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)

    assert order == ["a", "b", "c"]


def test_one_that_needs_no_turn_does_not_hold_up_others() -> None:
    """Another process may have installed it meanwhile."""
    turns = Turns(["a", "b"])
    turns.done("a")
    turns.done("a")

    turns.wait("b")


def test_one_that_comes_late_has_a_turn_after_all() -> None:
    """A release that could not be had is built."""
    turns = Turns(["a"])
    turns.add("late")
    turns.done("a")

    turns.wait("late")


def test_who_waits_is_told_that_there_is_nothing_to_wait_for() -> None:
    """One failed build ends the installation; no thread may be left."""
    turns = Turns(["a", "b"])
    ended: list[str] = []

    def go() -> None:
        with pytest.raises(TurnsEndedError):
            turns.wait("b")
        ended.append("b")

    thread = threading.Thread(target=go)
    thread.start()
    turns.end()
    thread.join(HANG_S)

    assert ended == ["b"]
