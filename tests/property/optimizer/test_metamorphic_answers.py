"""What must follow for an answer where the question changes in a known way.

No oracle knows the best answer of these clusters. But two questions whose answers are
related must get related answers, and no proof of the one may deny the other.
"""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest
from brute_force import Value, outcome, value_of
from made_snapshots import crowded_cluster
from snapshot_builder import SnapshotBuilder
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.search.cache import VARIABLE
from stowage_optimizer.strategies.lexicographic.move_search import MoveSearch
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.certificate import verify_certificates

SEEDS = range(2)
LIMIT_S = 1.0

CLUSTERS: dict[str, Callable[[int], pb.Snapshot]] = {
    "one priority": partial(crowded_cluster, priorities=1),
    "three priorities": partial(crowded_cluster, priorities=3),
    "constrained": partial(crowded_cluster, priorities=2, constrained=True),
    "weighed": partial(crowded_cluster, priorities=1, weighed=True),
}
every_cluster = pytest.mark.parametrize("cluster", CLUSTERS)


def solved(snapshot: pb.Snapshot, policy: pb.Policy = pb.POLICY_STRICT) -> tuple[pb.Plan, int]:
    """Return the answer, and how many of its limits the checker confirmed by prices.

    Work is counted in steps, so that it is always the same.
    """
    plan = answer_to(snapshot, policy=policy, strategy="lexicographic", time_limit_s=LIMIT_S, deterministic=True).plan
    assert verify_plan(snapshot, plan, policy) == []
    checked = verify_certificates(snapshot, plan, policy)
    assert checked.violations == ()
    return plan, checked.claims


@cache
def answered(cluster: str, seed: int) -> tuple[pb.Snapshot, pb.Plan]:
    """Return a question and its answer, which are not to be altered."""
    snapshot = CLUSTERS[cluster](seed)
    return snapshot, solved(snapshot)[0]


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
@every_cluster
def test_what_is_claimed_with_prices_alone_holds_for_the_independent_checker(
    cluster: str, policy: pb.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong certificate is the worst bug this project can have."""
    # It is quicker on clusters as small as these, and needs no prices.
    monkeypatch.setattr(MoveSearch, "run", lambda *_: None)

    assert sum(solved(CLUSTERS[cluster](seed), policy)[1] for seed in SEEDS)


def test_no_index_is_out_of_bounds(pytestconfig: pytest.Config) -> None:
    """Compiled code reads and writes outside its tables without an error.

    With few kinds of pods, with many, and where a search is cut off. Compiling takes
    long, so that what was compiled with checks is kept until a source changes.
    """
    assert pytestconfig.cache is not None
    script = (
        "import test_bounds_against_brute_force as bounds\n"
        "import test_metamorphic_answers as answers\n"
        "bounds.test_no_content_of_a_node_is_worth_more_than_its_limit()\n"
        "answers.solved(answers.crowded_cluster(0))\n"
        "answers.MoveSearch.run = lambda *_: None\n"
        "for cluster in answers.CLUSTERS.values():\n"
        "    answers.solved(cluster(0))\n"
    )
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        VARIABLE: str(pytestconfig.cache.mkdir("checked-indices")),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }

    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


def in_other_units(snapshot: pb.Snapshot, _random: Random) -> None:
    amounts = [one.allocatable for one in snapshot.nodes]
    amounts += [one.requests for one in snapshot.pod_classes]
    for one in amounts:
        one.cpu_milli *= 7
        one.memory_bytes *= 1024


def renamed(snapshot: pb.Snapshot, random: Random) -> None:
    names: defaultdict[str, str] = defaultdict(lambda: f"x{random.random()}", {"": ""})
    for node in snapshot.nodes:
        node.name = names[node.name]
    for pod_class in snapshot.pod_classes:
        pod_class.id = names[pod_class.id]
    for pod in snapshot.pods:
        pod.uid, pod.class_id = names[pod.uid], names[pod.class_id]
        pod.node = names[pod.node]


def shuffled(snapshot: pb.Snapshot, random: Random) -> None:
    snapshot.nodes.sort(key=lambda _: random.random())
    snapshot.pods.sort(key=lambda _: random.random())


def with_a_pod_that_fits_nowhere(snapshot: pb.Snapshot, _random: Random) -> None:
    SnapshotBuilder(snapshot).pod("huge", cpu_milli=10**6)


@pytest.mark.parametrize(
    ("alter", "same"),
    [(in_other_units, True), (renamed, True), (shuffled, False), (with_a_pod_that_fits_nowhere, False)],
)
@every_cluster
def test_what_means_nothing_changes_no_value_and_denies_no_proof(
    cluster: str, alter: Callable[[pb.Snapshot, Random], None], same: bool
) -> None:
    """Bytes or kilobytes, this name or that one; order may decide between plans."""
    for seed in SEEDS:
        snapshot, plan = answered(cluster, seed)
        other = altered(snapshot, seed, alter)

        theirs = solved(other)[0]

        mine, found = reached(snapshot, plan), reached(other, theirs)
        _holds(plan, mine, found)
        _holds(theirs, found, mine)
        assert mine == found or not (same or (plan.optimal and theirs.optimal))
        assert alter is not in_other_units or theirs == plan


@every_cluster
def test_an_empty_node_makes_nothing_worse(cluster: str) -> None:
    """Whatever was possible still is."""
    for seed in SEEDS:
        snapshot, before = answered(cluster, seed)
        wider = altered(snapshot, seed, lambda _snapshot, _random: None)
        wider.nodes.append(wider.nodes[0])
        wider.nodes[-1].name = wider.nodes[-1].labels["host"] = "new"

        after = solved(wider)[0]

        assert reached(wider, after) >= reached(snapshot, before)
        _holds(after, reached(wider, after), reached(snapshot, before))


def altered(snapshot: pb.Snapshot, seed: int, alter: Callable[[pb.Snapshot, Random], None]) -> pb.Snapshot:
    copy = pb.Snapshot.FromString(snapshot.SerializeToString())
    alter(copy, Random(seed))  # noqa: S311
    return copy


def reached(snapshot: pb.Snapshot, plan: pb.Plan) -> Value:
    return value_of(snapshot, outcome(snapshot, plan), pb.POLICY_STRICT)


def _holds(plan: pb.Plan, own: Value, found: Value) -> None:
    """Assert that no limit of ``plan`` is too tight for what was found elsewhere."""
    for at, tier in enumerate(plan.tiers):
        assert not tier.optimal or found[: at + 1] <= own[: at + 1]
        earlier = zip(own[:at], found[:at], strict=True)
        if not all(f >= o for a, b in earlier for o, f in zip(a, b, strict=True)):
            return
        if found[at][0] < own[at][0]:
            return
        assert found[at][1] <= tier.upper_bound
        if found[at][1] >= own[at][1]:
            assert -found[at][2] >= tier.disruption_lower_bound
