"""FGD's evaluation: orders of arrival, fragments, choices, prices, and a whole small trace."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from gpu_fleet import LISTS, a_fleet, a_pod, classes, free_prices, typical, write_trace
from sweep_tasks import HERE
from typer.testing import CliRunner

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli import app
from stowage_testbed.reproduce.fgd.descent import descended_price
from stowage_testbed.reproduce.fgd.evaluation import (
    POLICIES,
    FgdEvaluation,
    FgdRequest,
    at_load,
    curve,
    make_request,
    rebuild,
)
from stowage_testbed.reproduce.fgd.go_random import GoRandom
from stowage_testbed.reproduce.fgd.prices import price
from stowage_testbed.reproduce.fgd.report import PAGE, allocation_table, fgd_figures, report, score_table
from stowage_testbed.reproduce.fgd.simulation import Policy, PriceArrays, Problem, fragment, simulate
from stowage_testbed.reproduce.fgd.trace import GPU_NODES, read_nodes, read_pods
from stowage_testbed.reproduce.fgd.workload import Fleet, PodArrays, PodList, TypicalArrays, arrivals
from stowage_testbed.reproduce.sweep import SweepListener


@dataclass(frozen=True, slots=True)
class Printed:
    """What Go 1.26 printed for a seed: two numbers, draws below 10, 16 and 8152, ten things twice, one number later."""

    first: tuple[int, int]
    drawn: tuple[int, int, int]
    shuffled: str
    permuted: str
    later: int


@pytest.mark.parametrize(
    ("seed", "printed"),
    [
        (
            42,
            Printed(
                (3440579354231278675, 608747136543856411), (8, 14, 887), "6410582973", "4851097236", 3027678653958197680
            ),
        ),
        (
            51,
            Printed(
                (3893522058333705853, 6164845938608892732),
                (2, 14, 3388),
                "9348217056",
                "8709624153",
                1099144714419138032,
            ),
        ),
    ],
)
def test_a_seed_gives_the_numbers_that_go_gives(seed: int, printed: Printed) -> None:
    """What was published is by seed."""
    draw, items = GoRandom(seed), list(range(10))

    assert (draw.int63(), draw.int63()) == printed.first
    assert tuple(map(draw.below, (10, 16, 8152))) == printed.drawn
    draw.shuffle(items)
    assert "".join(map(str, items)) == printed.shuffled
    assert "".join(map(str, draw.permutation(10))) == printed.permuted
    for _ in range(2000):
        draw.int63()
    assert draw.int63() == printed.later


@pytest.mark.parametrize(
    ("gpus", "seed", "arriving", "first_node"),
    [
        # Five pods ask for 3.8 of 5 GPUs, so that four more are drawn, until another whole GPU would exceed 6.5.
        (5, 42, [1, 3, 4, 2, 0, 0, 2, 1, 3], 2),
        # Of 2 GPUs they ask for more than 2.6: one is taken away.
        (2, 43, [4, 0, 1, 2], 1),
    ],
)
def test_pods_arrive_as_in_the_published_runs(gpus: int, seed: int, arriving: list[int], first_node: int) -> None:
    """By the authors' own Go code on the same lists; of equal nodes the one with the lowest rank wins."""
    fleet = a_fleet((8, gpus), (9, 0), (10, 0))
    needs = [(1, 1000), (1, 500), (0, 0), (2, 1000), (1, 300)]
    pods = PodList.of("list", [a_pod(number, 1 + number, *need) for number, need in enumerate(needs)], fleet)

    classes_of, nodes = arrivals(pods, fleet, seed)

    assert [int(pods.pods.cpu_milli[one]) // 1000 - 1 for one in classes_of] == arriving
    assert int(nodes.cpu_milli[0]) == 1000 * (8 + first_node)


POPULAR = typical((0.5, 2, 1, 500), (0.25, 4, 2, 1000), (0.25, 16, 0, 0))
"""Half of a GPU; two whole ones; and a pod without any."""


def amount(cores: int, free: Sequence[int], model: int = 0, pods: TypicalArrays = POPULAR) -> float:
    """Return the fragments of a node."""
    row = np.zeros(8, int)
    row[: len(free)] = free
    return fragment(1000 * cores, row, len(free), model, pods, np.zeros((2, len(pods.sizes)), int))


@pytest.mark.parametrize(
    ("cores", "free", "model", "expected"),
    [
        # 400 are too few for half a GPU; 1,400 are useless to the others.
        (8, (1000, 400), 0, 0.5 * 400 + 0.25 * 1400 + 0.25 * 1400),
        (8, (1000, 0), 0, 0.25 * 1000 + 0.25 * 1000),
        (8, (600, 400), 0, 0.5 * 400 + 0.25 * 1000 + 0.25 * 1000),
        # Two idle ones suit all that want any.
        (8, (1000, 1000), 0, 0.25 * 2000),
        # Nobody has room with one core, or with another model, but for who wants no GPU.
        (1, (1000, 1000), 0, 2000),
        (32, (1000, 1000), 1, 2000),
        (8, (0, 0), 0, 0),
    ],
)
def test_fragments_are_what_typical_pods_cannot_use(
    cores: int, free: tuple[int, ...], model: int, expected: float
) -> None:
    """By hand from the paper's measure: each pod's useless GPUs, times its popularity."""
    assert amount(cores, free, model) == pytest.approx(expected)


def placed(
    policy: Policy,
    fleet: Fleet,
    needs: PodArrays,
    order: Sequence[int],
    *,
    pods: TypicalArrays = POPULAR,
    prices: PriceArrays | None = None,
) -> list[tuple[int, int]]:
    """Return the node and the GPUs, as bits, of each pod in the order of arrival."""
    problem = Problem(int(policy), needs, fleet.nodes, pods, prices or free_prices(fleet))
    found = simulate(problem, np.array(order, int), 0)
    return list(zip(found.node.tolist(), found.devices.tolist(), strict=True))


def test_fgd_takes_the_gpu_on_which_fragments_fall_most() -> None:
    """By hand: 1,000 and 400 are free. A share of 400 takes 400 fragments from the second, 200 from the first."""
    before = amount(8, (1000, 400))
    falls = [before - amount(8, (600, 400)), before - amount(8, (1000, 0))]
    assert falls == pytest.approx([200, 400])
    assert [int(100 / (1 + math.exp(-fall / 1000))) for fall in falls] == [54, 59]

    # The first pod leaves 400 of GPU 0.
    found = placed(Policy.FGD, a_fleet((9, 2)), classes((1, 1, 600), (0, 1, 400)), [0, 1])

    assert found == [(0, 0b01), (0, 0b01)]


WHOLE_GPUS = typical((1.0, 8, 1, 1000))


@pytest.mark.parametrize(
    ("policy", "node"), [(Policy.BEST_FIT, 0), (Policy.FGD, 1), (Policy.STOWAGE, 1), (Policy.STOWAGE_FIRST_FIT, 1)]
)
def test_a_pod_without_a_gpu_leaves_cores_to_gpus(policy: Policy, node: int) -> None:
    """12 of 16 cores fit best, and leave a GPU that nobody can use; 12 of 64 leave enough."""
    assert placed(policy, a_fleet((16, 1), (64, 1)), classes((12, 0, 0)), [0], pods=WHOLE_GPUS) == [(node, 0)]


@pytest.mark.parametrize(
    ("policy", "order", "nodes"),
    [
        # Left of 8 cores and 8 GPUs, in shares of the largest node: 0 and 1; of 64 and 1: 0.44 and 0.125.
        (Policy.BEST_FIT, [0], [1]),
        # Products of need and room: 0.004 beside 8 GPUs, 0.031 beside 64 cores.
        (Policy.DOT_PROD, [0], [0]),
        # Scores 25 and 32 of idle nodes; then what is in use; then an idle GPU of a node in use.
        (Policy.PACKING, [1, 2, 1, 1], [1, 0, 1, 0]),
        # Scores 25 and 46 without pods, then 98 for more of the sort; a whole GPU goes elsewhere, and draws its like.
        (Policy.CLUSTERING, [1, 1, 2, 2], [1, 1, 0, 0]),
    ],
)
def test_policies_choose_nodes_as_their_scores_say(policy: Policy, order: list[int], nodes: list[int]) -> None:
    """By hand from the lines of the authors' code that are cited beside each score."""
    needs = classes((8, 0, 0), (1, 1, 500), (1, 1, 1000))

    assert [node for node, _ in placed(policy, a_fleet((8, 8), (64, 1)), needs, order)] == nodes


@pytest.mark.parametrize(("policy", "device"), [(Policy.STOWAGE, 0b10), (Policy.STOWAGE_FIRST_FIT, 0b01)])
def test_first_fit_leaves_the_gpu_to_kubernetes(policy: Policy, device: int) -> None:
    """Of 400 and 300 a share of 300 fits both; who is asked for 400 as well keeps the first free."""
    popular = typical((1.0, 1, 1, 400))
    needs = classes((1, 1, 600), (1, 1, 700), (1, 1, 300))

    assert placed(policy, a_fleet((16, 2)), needs, [0, 1, 2], pods=popular)[2] == (0, device)


def test_prices_move_our_score() -> None:
    """A share costs what it takes of the gap it is put in: 300 units from an idle GPU, nothing from 400 thousandths."""
    fleet, gap = a_fleet((64, 1), (64, 1)), np.zeros((1, 101))
    gap[0, 60:] = 900.0
    dear = PriceArrays(gap, np.zeros(1), np.zeros(1))
    needs = classes((1, 1, 600), (1, 1, 300))
    no_matter = typical((1.0, 1, 0, 0))

    assert placed(Policy.STOWAGE, fleet, needs, [0, 1], pods=no_matter, prices=dear) == [(0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("milli", "gpu", "gap"),
    [
        # Two fill a GPU, which 1,000 thousandths are asked of.
        (500, 1000, {49: 0, 50: 500, 99: 500, 100: 1000}),
        # Only one fits, so that a GPU is worth 600, and what is left of it nothing.
        (600, 600, {40: 0, 59: 0, 60: 600, 100: 600}),
    ],
)
def test_prices_know_what_fits_into_one_gpu(milli: int, gpu: float, gap: dict[int, float]) -> None:
    """A program that sums shares would say that ten GPUs hold sixteen of 600; cores abound, and are worth nothing."""
    fleet = a_fleet(*[(64, 5)] * 2)
    pods = PodList.of("list", [a_pod(number, 1, 1, milli) for number in range(20)], fleet)

    found = price(pods, fleet)

    assert {units: found.gap[0, units] for units in gap} == pytest.approx(gap)
    assert found.gap[0, 100] == pytest.approx(gpu)
    assert [*found.cpu, *found.memory] == pytest.approx([0, 0])


def test_prices_of_cores_where_these_are_scarce() -> None:
    """Ten pods of a GPU and 8 cores on a node of 40 cores and 10 GPUs: a core is worth an eighth of a GPU."""
    fleet = a_fleet((40, 8))
    pods = PodList.of("list", [a_pod(number, 8, 1, 1000) for number in range(10)], fleet)

    found = price(pods, fleet)

    assert found.cpu[0] * 8000 == pytest.approx(1000)
    assert found.gap[0, 100] == pytest.approx(0)


def test_loads_that_pods_step_over_take_the_mean_of_their_neighbours() -> None:
    """As in the authors' analysis: of 200 GPUs, pods of 1.5 and 3 percent."""
    asked = np.array([3000, 6000, 1000])

    loads, allocation = curve(asked, np.array([0, -1, 1]), 200_000)

    # At 1.5, 4.5 and 5 % arrived, which round to 2, 4 and 5.
    assert dict(zip(loads, allocation, strict=True)) == {1: 1.5, 2: 1.5, 3: 1.5, 4: 1.5, 5: 2.0, 6: 2.0}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    write_trace(folder)
    return folder


REQUEST = FgdRequest(LISTS, tuple(POLICIES), 2)


class Begun(SweepListener):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def begun(self, what: str, total: int, done: int, workers: int) -> None:
        self.seen.append((what, total - done))


@pytest.fixture(scope="module")
def folder(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results")
    rebuild(trace, REQUEST, path, HERE, SweepListener())
    return path


@pytest.fixture(scope="module")
def evaluation(trace: Path, folder: Path) -> FgdEvaluation:
    return rebuild(trace, REQUEST, folder, HERE, SweepListener())


def test_each_policy_runs_once_in_each_order_and_is_not_run_again(
    evaluation: FgdEvaluation, trace: Path, folder: Path
) -> None:
    """An interrupted evaluation goes on where it was, also with more orders."""
    listener = Begun()
    more = replace(REQUEST, seeds=3)

    again = rebuild(trace, more, folder, HERE, listener)

    assert len(evaluation.runs) == len(LISTS) * len(POLICIES) * 2
    assert not evaluation.failures
    assert listener.seen == [("runs", len(LISTS) * len(POLICIES))]
    assert {one for one in again.runs if one.seed < 44} == set(evaluation.runs)
    for run in evaluation.runs:
        assert run.placed < run.arrived
        assert 70 <= (at_load(run, 130) or 0) <= 100


@pytest.mark.parametrize("policy", Policy)
def test_no_gpu_is_given_twice_and_a_share_is_of_one(policy: Policy, trace: Path) -> None:
    """By a count of our own over all that was placed."""
    fleet = Fleet.of(read_nodes(trace, GPU_NODES))
    pods = PodList.of("default", read_pods(trace, "default"), fleet)
    arriving, nodes = arrivals(pods, fleet, 42)
    needs = pods.pods
    prices = price(pods, fleet)

    found = simulate(Problem(int(policy), needs, nodes, pods.typical(95), prices), arriving, 42)

    taken, cpu = np.zeros((26, 8), int), np.zeros(26, int)
    for c, node, devices in zip(arriving, found.node, found.devices, strict=True):
        bits = [bit for bit in range(8) if devices >> bit & 1]
        assert len(bits) == (needs.gpus[c] if node >= 0 else 0)
        if node >= 0:
            taken[node, bits] += needs.gpu_milli[c]
            cpu[node] += needs.cpu_milli[c]
            assert needs.gpus[c] == 0 or needs.models[c] >> nodes.model[node] & 1
    assert taken.max() <= 1000
    assert (taken[np.arange(8) >= nodes.gpus[:, None]] == 0).all()
    assert (cpu <= nodes.cpu_milli).all()
    assert (found.node < 0).any()


def test_the_report_has_the_published_means_beside_ours_and_needs_no_trace(
    evaluation: FgdEvaluation, folder: Path, tmp_path: Path
) -> None:
    """Whoever has the folder has the whole evaluation."""
    shown = report(folder, tmp_path / "figures.json")
    table = {row[:2]: row for row in allocation_table(evaluation).rows}
    figures = {one.name: one for one in fgd_figures(evaluation)}
    page = (folder / PAGE).read_text("utf-8")

    assert table["default", "FGD"][4] == "90.00"
    assert table["default", "BestFit"][4] == "-"
    assert [row[:2] for row in score_table(evaluation).rows] == [
        (pods, policy) for pods in LISTS for policy in ("Stowage", "Stowage, first fit", "Stowage, plugin")
    ]
    assert figures["fgd: FGD at 130 %: farthest from a published mean"].target == "<= 0.15 points"
    assert figures["fgd: Stowage above FGD at 130 %: default"].target == "> 0 points"
    assert "Figure 9(a)" in page
    assert "Figure 11" in page
    assert "Figure 12" not in page
    assert 'src="http' not in page
    assert (tmp_path / "figures.json").is_file()
    assert "Allocated GPUs" in shown
    assert pl.read_parquet(folder / "prices.parquet").group_by("descended").len().sort("descended").rows() == [
        (False, len(LISTS) * 2),
        (True, len(LISTS) * 2),
    ]


def test_the_command_rebuilds_and_report_shows_it_again(trace: Path, tmp_path: Path) -> None:
    """The way that the how-to describes."""
    results = str(tmp_path / "r")
    options = ["--pods", "default", "--policies", "BestFit", "--seeds", "1", "--results", results]

    answer = CliRunner().invoke(app, ["reproduce", "fgd", str(trace), *options])
    again = CliRunner().invoke(app, ["report", results])

    assert (answer.exit_code, again.exit_code) == (0, 0)
    assert "BestFit" in answer.output
    assert "BestFit" in again.output


def test_the_plugin_s_policy_has_the_prices_that_the_plugin_finds(
    evaluation: FgdEvaluation, trace: Path, folder: Path
) -> None:
    """With the program's exact duals its figures would be of a scheduler that nobody can run."""
    fleet = Fleet.of(read_nodes(trace, GPU_NODES))
    pods = PodList.of("default", read_pods(trace, "default"), fleet)
    arriving, nodes = arrivals(pods, fleet, 42)
    prices = descended_price(pods, fleet)
    problem = Problem(int(Policy.STOWAGE_FIRST_FIT), pods.pods, nodes, pods.typical(100), prices)
    (run,) = (one for one in evaluation.of("default", "Stowage, plugin") if one.seed == 42)

    _, allocation = curve(pods.gpu_milli[arriving], simulate(problem, arriving, 42).node, fleet.gpu_milli)

    assert run.allocation == allocation
    priced = pl.read_parquet(folder / "prices.parquet").filter(pl.col("descended"), pods="default").sort("kind")
    assert priced["gap"].to_list() == prices.gap.tolist()


def test_the_scheduler_is_one_more_policy(trace: Path, tmp_path: Path) -> None:
    """What runs in a cluster is compared with what the paper simulates."""
    request = replace(REQUEST, pods=("default",), policies=("FGD",), seeds=1, profiles=("deterministic",))

    found = rebuild(trace, request, tmp_path, HERE, SweepListener())

    (run,) = found.of("default", "profile deterministic")
    assert not found.failures
    assert run.seed == 42
    assert 70 <= (at_load(run, 130) or 0) <= 100
    assert "profile deterministic" in {row[1] for row in allocation_table(found).rows}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pods", "gpu9"], "gpu9"),
        (["--policies", "WorstFit"], "is none of Random, DotProd"),
        (["--policies", "DotProd", "--moves", "3"], "moves are planned after BestFit, FGD, Stowage, first fit"),
    ],
)
def test_a_name_that_is_none_is_refused_with_those_that_are(
    options: list[str], said: str, trace: Path, tmp_path: Path
) -> None:
    """Before anything is run."""
    answer = CliRunner().invoke(app, ["reproduce", "fgd", str(trace), *options, "--results", str(tmp_path / "r")])

    assert answer.exit_code == 2
    assert said in answer.output
    assert not (tmp_path / "r").exists()


def test_a_folder_that_is_no_trace_is_refused_with_file_and_line(tmp_path: Path) -> None:
    """A wrong file would otherwise be a traceback of a parser."""
    with pytest.raises(InputError, match="has no list of pods"):
        make_request(tmp_path, (), (), 1)
    with pytest.raises(InputError, match="cannot read"):
        read_nodes(tmp_path, GPU_NODES)
    (tmp_path / GPU_NODES).write_text("sn,cpu_milli,memory_mib,gpu\nn0,1000,1024,1\n")
    with pytest.raises(InputError, match=r"csv:2: has no column 'model'"):
        read_nodes(tmp_path, GPU_NODES)
    (tmp_path / GPU_NODES).write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,many,1024,1,T4\n")
    with pytest.raises(InputError, match=r"csv:2: is no line of the OpenB trace"):
        read_nodes(tmp_path, GPU_NODES)
