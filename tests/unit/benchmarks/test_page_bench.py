"""The generated cluster that the live page is measured with."""

from __future__ import annotations

from benchmarks.page.benchmark import Round, page_figures
from benchmarks.page.fleet import Fleet, FleetSize
from stowage_testbed.live_page.model import LiveModel
from stowage_testbed.live_page.seen import PodState
from stowage_testbed.observe.change import Verb

SIZE = FleetSize(nodes=50, pods=500, workloads=10, past=2000)


def test_a_fleet_keeps_its_size_while_pods_come_and_go() -> None:
    """Else the page would be measured with less than the figure says."""
    journal = Fleet(SIZE).take_journal()
    model = LiveModel("fleet")
    model.listed(change for change in journal if change.verb is Verb.LISTED)
    model.take(change for change in journal if change.verb is not Verb.LISTED)

    told = model.snapshot()
    states = dict(enumerate(told["base"]["state"]))
    for at in range(0, len(told["log"]), 6):
        states[told["log"][at + 1]] = told["log"][at + 4]

    counts = [list(states.values()).count(state) for state in PodState]
    assert len(told["nodes"]) == 50
    assert len(told["log"]) / 6 >= 2000
    assert told["now"] >= 19_000
    assert abs(counts[PodState.WAITING] - 10) <= 1
    assert abs(counts[PodState.BOUND] - 490) <= 1


def test_changes_come_by_the_clock() -> None:
    """So many a second as were asked for, however often somebody looks."""
    fleet = Fleet(FleetSize(nodes=5, pods=20, past=0, rate_hz=1e6))
    fleet.take_journal()

    assert len(fleet.take_journal()) > 0


def test_figures_say_what_a_page_costs() -> None:
    """Frames are counted over their time, and slow ones are named."""
    rounds = [Round(1.5, [20.0] * 9 + [70.0], 250.0, 0.3)]

    figures = {one.name: one for one in page_figures(rounds)}

    assert figures["frames while sliding"].value == 40.0
    assert "10.0% of 10 frames" in figures["frames while sliding"].note
    assert [one.met for one in figures.values()] == [True, True, True, None]
