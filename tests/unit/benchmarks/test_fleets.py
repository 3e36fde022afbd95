"""Fleets of the benchmark: what they are made of, and what is said of their plans."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bench_records import a_record

from benchmarks.optimizer.figures import Answer, fleet_figures
from benchmarks.optimizer.fleet import Fleet, Start, placed
from benchmarks.optimizer.openb import NODES, read_fleet
from benchmarks.optimizer.scope import MADE, OURS, SMOKE, Ask, Sample
from benchmarks.optimizer.synthetic import make_fleet
from stowage_testbed.base.errors import StowageError

SEED = 3


def _load(fleet: Fleet) -> np.ndarray:
    load = np.zeros((len(fleet.kind), fleet.room.shape[1]), np.int64)
    runs = fleet.home >= 0
    np.add.at(load, fleet.home[runs], fleet.need[fleet.class_of[runs]])
    return load


@pytest.mark.parametrize("start", list(Start))
def test_running_pods_fit_where_they_are_and_the_others_nowhere(start: Start) -> None:
    """A stock scheduler left it so: there is nothing to gain without moves."""
    fleet = placed(make_fleet(40, 1.05, SEED), start, SEED)

    free = fleet.room[fleet.kind] - _load(fleet)
    waiting = np.flatnonzero(fleet.home < 0)
    runs = np.flatnonzero(fleet.home >= 0)

    assert (free >= 0).all()
    assert fleet.suits[fleet.class_of[runs], fleet.kind[fleet.home[runs]]].all()
    assert len(waiting)
    for one in fleet.class_of[waiting]:
        fits = (free >= fleet.need[one]).all(axis=1) & fleet.suits[one, fleet.kind]
        assert not fits.any()


def test_a_snapshot_has_every_node_and_pod_and_says_what_suits_whom() -> None:
    """The optimiser is given nothing else."""
    fleet = placed(make_fleet(10, 0.9, SEED), Start.LEAST_ALLOCATED, SEED)

    snapshot = fleet.snapshot()

    assert len(snapshot.nodes) == len(fleet.kind)
    assert len(snapshot.pods) == len(fleet.class_of)
    for one, suits in zip(snapshot.pod_classes, fleet.suits, strict=True):
        terms = one.required_node_affinity
        asked = terms[0].match_expressions[0].values if terms else ()
        assert list(asked) == (
            [] if suits.all() else [f"kind-{at}" for at in np.flatnonzero(suits)]
        )


def _write_trace(folder: Path) -> None:
    (folder / NODES).write_text(
        "sn,cpu_milli,memory_mib,gpu,model\n"
        "a,8000,1000,0,\n"
        "b,16000,2000,2,T4\n"
        "c,16000,2000,2,T4\n"
    )
    (folder / "openb_pod_list_some.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"
        "p,2000,100,1,500,T4|P100,LS\n"
        "q,1000,100,0,0,,BE\n"
    )


def test_a_fleet_of_the_trace_has_its_kinds_classes_models_and_priorities(
    tmp_path: Path,
) -> None:
    """GPUs are pooled by node, and a pod that names models may be on these only."""
    _write_trace(tmp_path)

    fleet = read_fleet(tmp_path, "some", 3, 0.3, SEED)

    rooms = sorted(map(tuple, fleet.room[fleet.kind].tolist()))
    assert rooms == [(8000, 1000, 0, 110)] + 2 * [(16000, 2000, 2000, 110)]
    by_need = {tuple(need): at for at, need in enumerate(fleet.need.tolist())}
    with_gpu = by_need[2000, 100, 500, 1]
    without = by_need[1000, 100, 0, 1]
    assert fleet.suits[with_gpu, fleet.kind].sum() == 2
    assert fleet.suits[without].all()
    assert fleet.priority[with_gpu] > fleet.priority[without]


def test_a_trace_that_is_not_there_is_named_with_a_way_out(tmp_path: Path) -> None:
    """Its files are not part of the project."""
    with pytest.raises(StowageError, match="give the folder"):
        read_fleet(tmp_path, "some", 3, 0.3, SEED)


def test_without_the_trace_made_fleets_are_measured() -> None:
    """Nobody needs files from elsewhere to run the benchmark."""
    asks = list(SMOKE.asks(real=False))

    assert asks
    assert {one.sample.pods for one in asks} == {MADE}


def _answer(strategy: str, placed_pods: int, bound: int) -> Answer:
    ask = Ask(Sample("gpuspec25", 150, 0.95, 1), strategy, 10.0)
    record = a_record(
        ((0, placed_pods, 0),),
        case=ask.sample.name,
        arm=ask.arm,
        upper_bound=bound,
        wall_s=10.02,
    )
    return Answer(ask, record)


def test_gaps_rivals_and_contradictions_are_told() -> None:
    """These are what the benchmark is for."""
    answers = [_answer(OURS, 200, 201), _answer("milp", 202, 210)]

    figures = {one.name: one for one in fleet_figures(answers)}

    gap = figures["150 nodes, 10 s: gap of the lowest tier's pods"]
    assert gap.value == pytest.approx(0.5)
    assert figures["worse than milp"].value == 1
    assert figures["limits that some plan contradicts"].value == 1
    assert figures["answer after the limit, at most"].value == pytest.approx(20)
