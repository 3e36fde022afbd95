"""No disruption budget is broken by an eviction; budgets and pods are followed through the history once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stowage_testbed.invariants.history import Evicted, History, Violation
from stowage_testbed.invariants.selector import Selector, SelectorIndex
from stowage_testbed.observe.change import Verb
from stowage_testbed.observe.pod import Pod, key_of, read_pod


@dataclass(frozen=True, slots=True)
class Demand:
    """What a budget demands: so many healthy pods of those that it selects."""

    budget: str
    selector: Selector
    healthy: int


def no_budget_broken(history: History) -> Iterator[Violation]:
    """Yield evictions that left fewer pods ready than a budget last demanded before the server granted them."""
    budgets = [_demand(history, position) for position in range(len(history.changes))]
    index = SelectorIndex(one.selector for one in budgets if one is not None)
    demands = _demands(history, budgets, index)
    counts = _counts(history, index, demands)
    for evicted, asked, left in zip(history.evictions, demands, counts, strict=True):
        for demand in asked:
            if left is not None and left[demand.selector] < demand.healthy:
                yield Violation(
                    "budget", demand.budget, f"{left[demand.selector]} of {demand.healthy} ready without {evicted.key}"
                )


def _demand(history: History, position: int) -> Demand | None:
    """Return what a change's budget demands; ``None`` of other kinds, or of nobody."""
    change = history.changes[position]
    if change.kind != "PodDisruptionBudget" or change.verb is Verb.DELETED:
        return None
    selector = Selector.of(change.body)
    healthy = (change.body.get("status") or {}).get("desiredHealthy")
    if selector is None or healthy is None:
        return None
    return Demand(key_of(change.body), selector, int(healthy))


def _demands(history: History, budgets: Sequence[Demand | None], index: SelectorIndex) -> list[list[Demand]]:
    """Return what was demanded when each eviction was granted."""
    demands: list[list[Demand]] = [[] for _ in history.evictions]
    present: dict[Selector, dict[str, Demand]] = {}
    selectors: dict[str, Selector] = {}
    turns = _in_turn(history, lambda evicted: evicted.granted)
    for position, numbers in turns:
        for number in numbers:
            pod = read_pod(history.evictions[number].body)
            for selector in index.of(pod.namespace, pod.labels):
                demands[number] += present.get(selector, {}).values()
        if position == len(history.changes):
            break
        change, demand = history.changes[position], budgets[position]
        if change.kind != "PodDisruptionBudget":
            continue
        if change.uid in selectors:
            del present[selectors.pop(change.uid)][change.uid]
        if demand is not None:
            selectors[change.uid] = demand.selector
            present.setdefault(demand.selector, {})[change.uid] = demand
    return demands


def _counts(
    history: History, index: SelectorIndex, demands: Sequence[Sequence[Demand]]
) -> list[Counter[Selector] | None]:
    """Return how many others were ready when each pod left, by selector; ``None`` of a pod that was not ready."""
    counts: list[Counter[Selector] | None] = [None for _ in history.evictions]
    pods = _ReadyPods(index)
    for position, numbers in _in_turn(history, lambda evicted: evicted.position):
        for number in numbers:
            evicted = history.evictions[number]
            if pods.ready(evicted):
                counts[number] = Counter(
                    {demand.selector: pods.others(evicted.uid, demand.selector) for demand in demands[number]}
                )
        if position == len(history.changes):
            break
        facts = history.facts[position]
        if facts is not None:
            gone = history.changes[position].verb is Verb.DELETED
            pods.take(facts, gone=gone)
    return counts


def _in_turn(history: History, moment: Callable[[Evicted], int]) -> Iterator[tuple[int, list[int]]]:
    """Yield every position of a history, and one behind it, with the evictions that come just before it."""
    at: dict[int, list[int]] = {}
    for number, evicted in enumerate(history.evictions):
        at.setdefault(moment(evicted), []).append(number)
    for position in range(len(history.changes) + 1):
        yield position, at.get(position, [])


class _ReadyPods:
    """How many ready pods each selector selects, and which selectors each pod has."""

    def __init__(self, index: SelectorIndex) -> None:
        self._index = index
        self._count: Counter[Selector] = Counter()
        self._selectors: dict[str, tuple[Selector, ...]] = {}
        self._known: dict[str, Pod] = {}

    def take(self, facts: Pod, *, gone: bool) -> None:
        """Take in the next change of a pod."""
        self._count.subtract(self._selectors.pop(facts.uid, ()))
        self._known.pop(facts.uid, None)
        if gone:
            return
        self._known[facts.uid] = facts
        if facts.live and facts.ready:
            selectors = tuple(self._index.of(facts.namespace, facts.labels))
            self._selectors[facts.uid] = selectors
            self._count.update(selectors)

    def ready(self, evicted: Evicted) -> bool:
        """Return whether a pod is ready; of one that is not there, whether it was."""
        pod = self._known.get(evicted.uid) or read_pod(evicted.body)
        return pod.live and pod.ready

    def others(self, uid: str, selector: Selector) -> int:
        """Return how many pods are ready beside this one."""
        return self._count[selector] - (selector in self._selectors.get(uid, ()))
