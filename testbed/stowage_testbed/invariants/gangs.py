"""Gangs: no scheduler leaves one with some of its pods placed, but with fewer than it needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.pod import PREEMPTED, Pod
from stowage_testbed.observe.pod_group import POD_GROUP, read_min_count

RULE = "half-placed"

HALF_PLACED_S = 10.0
"""How long a gang may be half placed while its pods are bound or moved, beside the time that its pods have to end: two
answers of the API server at 5 s each."""
DEFAULT_GRACE_S = 30.0
"""Of a pod that says nothing else."""


def no_gang_half_placed(history: History) -> Iterator[Violation]:
    """Yield gangs that a scheduler left with fewer pods placed than they need, for longer than moving them takes.

    A pod that has succeeded counts as placed. Nobody is blamed from when others take a pod away, as when its node goes
    or a user deletes it, until the gang is whole or gone.
    """
    evicted = {one.pod.uid for one in history.evictions if one.by_scheduler}
    gangs: defaultdict[str, _Gang] = defaultdict(_Gang)
    for change, pod in history.steps:
        if change.kind == POD_GROUP:
            key = f"{change.namespace}/{change.name}"
            least = 0 if change.verb is Verb.DELETED else read_min_count(change.body)
            by_others = least != gangs[key].least
            gangs[key].least = least
        elif pod is not None and pod.group:
            key = f"{pod.namespace}/{pod.group}"
            is_lost = gangs[key].take(change, pod)
            is_made_to_leave = pod.disruption == PREEMPTED or pod.uid in evicted
            by_others = change.verb is Verb.LISTED or (is_lost and not is_made_to_leave)
        else:
            continue
        yield from gangs[key].look(key, change.receipt, by_others=by_others)
    for key, gang in gangs.items():
        if gang.since is not None and not gang.excused:
            yield Violation(RULE, key, f"{gang.in_words()}, and nothing changes any more")


@dataclass(slots=True)
class _Gang:
    """A group at one moment; ``least`` is 0 for one that is no gang, or not there."""

    least: int = 0
    placed: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    grace_s: float = 0.0
    since: Receipt | None = None
    excused: bool = False

    def take(self, change: Change, pod: Pod) -> bool:
        """Take in a change of a member; return whether the gang loses it by that."""
        leaves = change.verb is Verb.DELETED or pod.terminating or pod.phase == "Failed"
        if pod.bound and not leaves:
            if pod.uid not in self.placed:
                grace_s = change.body["spec"].get("terminationGracePeriodSeconds")
                self.grace_s = max(self.grace_s, DEFAULT_GRACE_S if grace_s is None else grace_s)
            self.placed.add(pod.uid)
        else:
            self.placed.discard(pod.uid)
        if not leaves or pod.uid in self.lost:
            return False
        self.lost.add(pod.uid)
        return True

    def look(self, key: str, now: Receipt, *, by_others: bool) -> Iterator[Violation]:
        """Yield a violation where a time that was too long is over."""
        if 0 < len(self.placed) < self.least:
            if self.since is None:
                self.since, self.excused = now, False
            self.excused |= by_others
            return
        since, self.since = self.since, None
        if since is None or self.excused:
            return
        lasted_s, most_s = now.seconds_since(since), HALF_PLACED_S + self.grace_s
        if lasted_s > most_s:
            detail = (
                f"fewer of its pods than it needs were placed for {lasted_s:.1f} s, {most_s:g} s at most are allowed"
            )
            yield Violation(RULE, key, detail, since.wall_text())

    def in_words(self) -> str:
        return f"{len(self.placed)} pods are placed, and it needs {self.least}"
