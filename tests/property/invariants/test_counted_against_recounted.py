"""What is updated change by change, against the same counted again each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from history_builder import HistoryBuilder
from hypothesis import given
from hypothesis import strategies as st

from stowage_testbed.invariants import History
from stowage_testbed.invariants.budget import no_budget_broken
from stowage_testbed.invariants.capacity import no_overcommit
from stowage_testbed.invariants.selector import Selector
from stowage_testbed.observe.change import JsonObject, Verb, uid_of
from stowage_testbed.observe.pod_body import is_live_and_ready, node_of, takes_room

CPUS = 2
"""Of each node; each pod takes one."""


def asking(key: str, operator: str, *values: str) -> JsonObject:
    asked = {"key": key, "operator": operator, "values": list(values)}
    return {"matchExpressions": [asked]}


HistoryChange = Callable[[HistoryBuilder], object]
PODS = st.sampled_from(["p1", "p2", "p3", "p4"])
BUDGETS = st.sampled_from(["x", "y"])
LABELS = st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"app": "b", "tier": "t"}])
SELECTORS = st.sampled_from(
    [
        None,
        {},
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b", "tier": "t"}},
        asking("app", "In", "a", "b"),
        asking("app", "In", "b", "b"),
        asking("app", "NotIn", "a"),
        asking("tier", "Exists"),
        asking("app", "DoesNotExist"),
    ]
)


def gone(kind: str, name: str) -> HistoryChange:
    return lambda run: (kind, name) in run._known and run.gone(kind, name)


CHANGES = st.lists(
    st.one_of(
        st.builds(
            lambda name, node, labels, more: lambda run: run.pod(name, node=node, labels=labels, **more),
            PODS,
            st.sampled_from(["", "n1", "n1", "n2"]),
            LABELS,
            st.sampled_from([{}, {}, {"phase": "Failed"}, {"terminating": True}]),
        ),
        st.builds(
            lambda name, healthy, selector: lambda run: run.budget(healthy, name, selector=selector),
            BUDGETS,
            st.integers(1, 3),
            SELECTORS,
        ),
        st.builds(gone, st.just("Pod"), PODS),
        st.builds(gone, st.just("PodDisruptionBudget"), BUDGETS),
        st.sampled_from(["p1", "p2"]).map(lambda name: lambda run: run.evict(name)),
        st.just(lambda run: run.listed_together()),
    ),
    min_size=5,
    max_size=40,
)


def history_of(changes: list[HistoryChange]) -> History:
    run = HistoryBuilder().node("n1", cpu=str(CPUS)).node("n2", cpu=str(CPUS))
    run.pod("p1", node="n1").pod("p2", node="n2", labels={"app": "b", "tier": "t"})
    for change in changes:
        change(run)
    return run.history()


def overfull(history: History) -> Iterator[tuple[str, int]]:
    """Yield who came to a node with too little room, and what is taken there then."""
    for at, change in enumerate(history.changes):
        known = history.present("Pod", at).get(change.uid)
        there = history.present("Pod", at + 1)
        came = there.get(change.uid)
        if came is None or not takes_room(came) or (known and node_of(known)):
            continue
        if known is None and change.verb is Verb.LISTED:
            continue
        taken = sum(takes_room(one) and node_of(one) == node_of(came) for one in there.values())
        if change.kind == "Pod" and taken > CPUS:
            yield f"ns/{change.name} on {node_of(came)}", 1000 * taken


def broken(history: History) -> Iterator[tuple[str, str]]:
    """Yield budgets that an eviction broke, and how many were left of how many."""
    for evicted in history.evictions:
        pods = history.present("Pod", evicted.position)
        if not is_live_and_ready(pods.get(evicted.uid, evicted.body)):
            continue
        for budget in history.present("PodDisruptionBudget", evicted.granted).values():
            demanded = budget["status"]["desiredHealthy"]
            if not selects(budget, evicted.body):
                continue
            left = sum(
                uid_of(one) != evicted.uid and selects(budget, one) and is_live_and_ready(one) for one in pods.values()
            )
            if left < demanded:
                name = f"ns/{budget['metadata']['name']}"
                yield name, f"{left} of {demanded} ready without {evicted.key}"


def selects(budget: JsonObject, pod: JsonObject) -> bool:
    selector = Selector.of(budget)
    return selector is not None and selector.selects(pod["metadata"]["labels"])


@given(CHANGES)
def test_what_is_counted_is_as_if_all_pods_were_counted_each_time(changes: list[HistoryChange]) -> None:
    """A sum that misses one change, or an index one selector, is wrong from then on."""
    history = history_of(changes)
    room = [(one.subject, int(one.detail.split()[1])) for one in no_overcommit(history) if one.detail.startswith("cpu")]
    budgets = [(one.subject, one.detail) for one in no_budget_broken(history)]

    assert room == list(overfull(history))
    assert sorted(budgets) == sorted(broken(history))
