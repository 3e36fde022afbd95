"""Several workers report at a time; what is shown is one run."""

from __future__ import annotations

from collections.abc import Callable

from stowage_testbed.run.workers.order import InOrder


class Said:
    """Collects what is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> Callable[[], None]:
        return lambda: self.lines.append(line)


def test_lines_of_a_scenario_stay_together_in_the_order_of_the_files() -> None:
    """Two scenarios in one log, line by line in turn, cannot be read."""
    order, say = InOrder(), Said()

    order.tell(1, say("b begins"))
    order.tell(0, say("a begins"))
    order.tell(1, say("b ends"))
    order.end(1)
    order.tell(0, say("a ends"))
    order.end(0)

    assert say.lines == ["a begins", "a ends", "b begins", "b ends"]


def test_the_first_that_is_not_over_is_told_of_as_it_goes_on() -> None:
    """Who watches sees that something happens."""
    order, say = InOrder(), Said()
    order.tell(1, say("b begins"))
    order.tell(0, say("a"))
    order.end(0)

    order.tell(1, say("b goes on"))

    assert say.lines == ["a", "b begins", "b goes on"]


def test_what_is_of_no_scenario_waits_for_the_end_of_one() -> None:
    """A second cluster comes up while the first scenario runs."""
    order, say = InOrder(), Said()

    order.tell_between(say("one cluster"))
    order.tell(0, say("a begins"))
    order.tell_between(say("another cluster"))
    order.tell(0, say("a ends"))
    order.end(0)

    assert say.lines == ["one cluster", "a begins", "a ends", "another cluster"]


def test_what_is_kept_is_told_when_a_run_ends_early() -> None:
    """What had passed before Ctrl-C has passed."""
    order, say = InOrder(), Said()
    order.tell(2, say("c"))
    order.tell(0, say("a begins"))
    order.tell_between(say("a cluster"))
    order.end(2)

    order.close()

    assert say.lines == ["a begins", "a cluster", "c"]


def test_it_is_known_whether_something_is_held_back() -> None:
    """Who watches is told how far the run is, where nothing else can be told."""
    order, say = InOrder(), Said()
    order.tell(1, say("b"))
    assert not order.holds_back

    order.end(1)
    assert order.holds_back

    order.end(0)
    assert not order.holds_back
