"""Pieces of a soak join, and what grows in etcd has a name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.faults.trial import Trial
from benchmarks.soak.events import FAULTS, LASTING
from benchmarks.soak.figures import figures_of
from benchmarks.soak.pieces import (
    SAMPLES,
    TURNS,
    About,
    Piece,
    end_piece,
    lengths_s,
    pieces_of,
    write_sample,
)
from benchmarks.soak.sampler import ALL_OBJECTS, OBJECTS_OF, objects_by_resource
from benchmarks.soak.slopes import Point
from stowage_testbed.base.journal import Journal
from stowage_testbed.text.figure import Figure

LENGTH_S, WARM_S = 2400.0, 900.0


def a_piece(
    soaks: Path,
    name: str,
    *,
    nodes: int = 300,
    build: str = "b",
    objects: Callable[[float], float] = lambda _: 5.0,
    violations: tuple[str, ...] = (),
) -> None:
    """Write a piece of 40 minutes as a soak leaves it."""
    folder = soaks / name
    folder.mkdir(parents=True)
    trial = Trial("soak/load-nothing", "nothing", 0, 1, 5.0, struck=True)
    trials = Journal(folder / TURNS, Trial)
    trials.add(trial)
    trials.add(
        Trial("soak/a-b", "b", 1, 1, 5.0, struck=True, violations=violations, phases=())
    )
    for second in range(0, int(LENGTH_S), 20):
        for what, value in (
            (ALL_OBJECTS, 100 + objects(second)),
            (f"{OBJECTS_OF}packingplans.stowage.dev", objects(second)),
            (f"{OBJECTS_OF}nodes", 100.0),
        ):
            write_sample(folder / SAMPLES, what, Point(float(second), 0, value))
    end_piece(folder, About(nodes, 1, LENGTH_S, build))


def figures(pieces: list[Piece]) -> dict[str, Figure]:
    return {one.name: one for one in figures_of(pieces, WARM_S)}


def test_pieces_of_one_build_and_size_add_up(tmp_path: Path) -> None:
    """A soak of hours is made at several times."""
    a_piece(tmp_path, "one", violations=("protected: x",))
    a_piece(tmp_path, "two", violations=("protected: y",))
    a_piece(tmp_path, "smaller", nodes=20)
    a_piece(tmp_path, "older", build="a")

    pieces, others = pieces_of(tmp_path, 300, "b")

    assert [piece.folder.name for piece in pieces] == ["one", "two"]
    assert sorted(others) == [
        "older is of another build or machine",
        "smaller has 20 nodes",
    ]
    found = figures(pieces)
    assert found["soaked"].value == pytest.approx(2 * LENGTH_S / 3600)
    assert found["violations"].value == 2
    assert found[f"slope: {ALL_OBJECTS}"].runs == 2 * (LENGTH_S - WARM_S) / 60


def test_a_piece_that_was_killed_is_not_counted(tmp_path: Path) -> None:
    """Nobody knows how long it was, or what became of it."""
    a_piece(tmp_path, "one")
    (tmp_path / "one" / "piece.json").unlink()

    assert pieces_of(tmp_path, 300, "b") == ([], [])


def test_the_kinds_that_grow_are_named(tmp_path: Path) -> None:
    """A number of objects says that something is left behind, and not what."""
    a_piece(tmp_path, "one", objects=lambda second: second / 36)

    (piece,), _ = pieces_of(tmp_path, 300, "b")
    found = figures([piece])[f"slope: {ALL_OBJECTS}"]

    assert found.value == pytest.approx(100)
    assert found.met is False
    assert "packingplans.stowage.dev +100" in found.note
    assert "nodes" not in found.note


def test_what_grows_while_it_warms_up_is_no_growth(tmp_path: Path) -> None:
    """Plans are kept up to a number, which the first minutes fill."""
    a_piece(tmp_path, "one", objects=lambda second: min(second, WARM_S))

    (piece,), _ = pieces_of(tmp_path, 300, "b")

    assert figures([piece])[f"slope: {ALL_OBJECTS}"].met is True


@pytest.mark.parametrize(
    ("whole_s", "count"), [(60.0, 1), (2400.0, 1), (2700.0, 1), (2701.0, 2), (14400, 6)]
)
def test_a_long_soak_is_several_pieces(whole_s: float, count: int) -> None:
    """One that fails after hours would cost them all."""
    lengths = lengths_s(whole_s)

    assert len(lengths) == count
    assert sum(lengths) == pytest.approx(whole_s)


def test_nothing_that_ends_a_process_comes_after_the_first_part() -> None:
    """A process that begins anew is not warm for a quarter of an hour."""
    assert {"kill-scheduler", "kill-optimizer", "freeze-leader"} <= set(FAULTS)
    assert not {"kill-scheduler", "kill-optimizer", "freeze-leader"} & set(LASTING)


METRICS = """\
# TYPE apiserver_resource_objects gauge
apiserver_resource_objects{group="",resource="pods"} 7
apiserver_resource_objects{group="",resource="events"} 900
apiserver_resource_objects{group="events.k8s.io",resource="events"} 900
apiserver_resource_objects{group="apps",resource="replicasets"} 3
apiserver_resource_objects{group="",resource="secrets"} -1
"""


@pytest.mark.parametrize("name", ["resource_objects", "storage_objects"])
def test_objects_are_counted_by_resource(name: str) -> None:
    """Events go by themselves after an hour; what could not be counted is no object."""
    found = objects_by_resource(METRICS.replace("resource_objects", name))

    assert found == {"pods": 7, "replicasets.apps": 3}
