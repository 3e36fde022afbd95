"""No disruption budget is broken by an eviction; budgets and pods are followed through the history once."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stowage_testbed.api.label_selector import Requirement, requirements_of
from stowage_testbed.invariants.history import Evicted, History, Violation
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.pod import Pod, key_of


class Selector(NamedTuple):
    """The pods of a namespace that meet every requirement; without any, all of it."""

    namespace: str
    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a budget demands: so many healthy pods of those that it selects."""

    budget: str
    selector: Selector
    healthy: int


def no_budget_broken(history: History) -> Iterator[Violation]:
    """Yield evictions that left fewer pods ready than a budget last demanded before the server granted them."""
    demands = {number: _read_demand(change) for number, change in enumerate(history.changes)}
    index = _SelectorIndex(one.selector for one in demands.values() if one is not None)
    granted, leaving = defaultdict[int, list[Evicted]](list), defaultdict[int, list[Evicted]](list)
    for evicted in history.evictions:
        granted[evicted.granted].append(evicted)
        leaving[evicted.leaves].append(evicted)
    budgets: dict[str, Demand] = {}
    in_force: dict[Selector, dict[str, Demand]] = defaultdict(dict)
    ready = _ReadyPods(index)
    asked: dict[int, list[Demand]] = {}
    left: dict[int, dict[Selector, int]] = {}
    for number in range(len(history.changes) + 1):
        for evicted in granted[number]:
            asked[id(evicted)] = [one for selector in index.of(evicted.pod) for one in in_force[selector].values()]
        for evicted in leaving[number]:
            left[id(evicted)] = ready.count_without(evicted.pod)
        if number == len(history.changes):
            break
        change, pod = history.steps[number]
        if pod is not None:
            ready.take(pod, gone=change.verb is Verb.DELETED)
        elif change.kind == "PodDisruptionBudget":
            if before := budgets.pop(change.uid, None):
                del in_force[before.selector][change.uid]
            if demand := demands[number]:
                budgets[change.uid] = in_force[demand.selector][change.uid] = demand
    for evicted in history.evictions:
        for demand in asked[id(evicted)]:
            have = left[id(evicted)].get(demand.selector, demand.healthy)
            if have < demand.healthy:
                detail = f"{have} of {demand.healthy} ready without {evicted.pod.key}"
                yield Violation("budget", demand.budget, detail)


def _read_demand(change: Change) -> Demand | None:
    """Return what a change's budget demands; ``None`` of other kinds, or of nobody."""
    if change.kind != "PodDisruptionBudget" or change.verb is Verb.DELETED:
        return None
    selector = (change.body.get("spec") or {}).get("selector")
    healthy = (change.body.get("status") or {}).get("desiredHealthy")
    if selector is None or healthy is None:
        return None
    return Demand(key_of(change.body), Selector(change.namespace, requirements_of(selector)), int(healthy))


class _SelectorIndex:
    """Finds the selectors of a pod by its labels, without asking every selector."""

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self._by_label: dict[tuple[str, ...], list[Selector]] = defaultdict(list)
        for selector in dict.fromkeys(selectors):
            one = next((one for one in selector.requirements if one.operator == "In"), None)
            # A value that stands twice must not be found twice.
            labels = [(one.key, value) for value in dict.fromkeys(one.values)] if one else [()]
            for label in labels:
                self._by_label[selector.namespace, *label].append(selector)

    def of(self, pod: Pod) -> Iterator[Selector]:
        for label in ((), *pod.labels.items()):
            for selector in self._by_label.get((pod.namespace, *label), ()):
                if all(one.holds(pod.labels) for one in selector.requirements):
                    yield selector


class _ReadyPods:
    """How many ready pods each selector selects, and which selectors each pod has."""

    def __init__(self, index: _SelectorIndex) -> None:
        self._index = index
        self._count: Counter[Selector] = Counter()
        self._selectors: dict[str, tuple[Selector, ...]] = {}
        self._known: dict[str, Pod] = {}

    def take(self, pod: Pod, *, gone: bool) -> None:
        self._count.subtract(self._selectors.pop(pod.uid, ()))
        self._known.pop(pod.uid, None)
        if gone:
            return
        self._known[pod.uid] = pod
        if pod.live and pod.ready:
            self._selectors[pod.uid] = tuple(self._index.of(pod))
            self._count.update(self._selectors[pod.uid])

    def count_without(self, evicted: Pod) -> dict[Selector, int]:
        """Return how many other pods each of a ready pod's selectors selects; of one not there, as it was."""
        pod = self._known.get(evicted.uid, evicted)
        if not (pod.live and pod.ready):
            return {}
        mine = self._selectors.get(pod.uid, ())
        return {selector: self._count[selector] - (selector in mine) for selector in self._index.of(evicted)}
