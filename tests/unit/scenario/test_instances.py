"""The vectors below are facts of the paper's published data set (first seeds of it)."""

import pytest
from amounts import asked

from stowage_testbed.scenario.instances import generate

PUBLISHED_4_NODES = {
    484806185843093489: (
        (2033, 2220253209),
        [
            (4, 427, 343966759),
            (2, 391, 390597870),
            (2, 828, 613089629),
            (4, 151, 549358279),
            (1, 553, 311363716),
            (3, 671, 700290895),
        ],
    ),
    4219457405427907235: (
        (1353, 2389309213),
        [
            (1, 867, 583045723),
            (3, 275, 508486073),
            (4, 293, 797857795),
            (4, 312, 569912140),
            (4, 189, 255482371),
        ],
    ),
    7309940385334237743: (
        (2526, 2377692200),
        [
            (2, 628, 762438612),
            (4, 297, 148276586),
            (1, 708, 622733429),
            (1, 665, 292847219),
            (4, 573, 635007650),
            (2, 972, 875325853),
            (1, 336, 828106537),
            (1, 704, 407338858),
        ],
    ),
}

PUBLISHED_16_NODES = """
rs-01-p2 4 427 343966759, rs-02-p1 2 391 390597870, rs-03-p1 2 828 613089629,
rs-04-p2 4 151 549358279, rs-05-p2 1 553 311363716, rs-06-p1 4 671 700290895,
rs-07-p1 4 329 304947441, rs-08-p2 4 855 803292127, rs-09-p1 4 141 542698642,
rs-10-p2 4 566 707455228, rs-11-p2 3 333 363023020, rs-12-p2 4 336 572662135,
rs-13-p2 1 359 876802530, rs-14-p2 1 416 393504472, rs-15-p1 3 102 277132079,
rs-16-p2 4 760 893315398, rs-17-p2 4 678 388736459, rs-18-p2 1 576 477224356,
rs-19-p1 3 903 605332519, rs-20-p2 2 292 950348858, rs-21-p1 1 349 498306702,
rs-22-p1 2 861 376336480, rs-23-p2 2 821 622047283
"""


@pytest.mark.parametrize("seed", PUBLISHED_4_NODES)
def test_a_seed_gives_the_published_instance(seed: int) -> None:
    """4 nodes, 16 pods, 1 priority, usage 90 %: sizes, requests and capacities."""
    (cpu_milli, memory_bytes), sets = PUBLISHED_4_NODES[seed]

    instance = generate(seed, 4, 4, 1, 0.90)

    drawn = [(s.replicas, s.requests) for s in instance.workload]
    assert drawn == [(replicas, asked(cpu, memory)) for replicas, cpu, memory in sets]
    assert instance.node == asked(cpu_milli, memory_bytes)


def test_a_seed_gives_the_published_priorities() -> None:
    """16 nodes, 64 pods, 2 priorities, usage 95 %: all 23 ReplicaSets."""
    instance = generate(484806185843093489, 16, 4, 2, 0.95)

    drawn = [
        f"{s.name} {s.replicas} {s.requests['cpu']} {s.requests['memory']}"
        for s in instance.workload
    ]
    assert drawn == [line.strip() for line in PUBLISHED_16_NODES.split(",")]


def test_an_instance_becomes_nodes_and_workload() -> None:
    """The runner sees generated and written scenarios alike."""
    instance = generate(7, 4, 8, 2, 1.0)

    pool, workload = instance.node_pool(), instance.workload

    assert pool.node_names() == ["node-0", "node-1", "node-2", "node-3"]
    assert pool.resources["pods"] == 512
    assert sum(entry.replicas for entry in workload) == 32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((1, 0, 4, 1, 0.9), "nodes must be more than 0, not 0"),
        ((1, 4, 4, 1, 0.0), "usage must be more than 0"),
        ((-1, 4, 4, 1, 0.9), "seed must lie from 0"),
    ],
)
def test_parameters_that_make_no_instance_are_refused(
    parameters: tuple[int, int, int, int, float], message: str
) -> None:
    """They would loop for ever or divide by nothing."""
    with pytest.raises(ValueError, match=message):
        generate(*parameters)
