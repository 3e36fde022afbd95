"""What browsers are told of a cluster: a snapshot, and small deltas after it.

Both are JSON objects. A snapshot has every key, a delta those with something new.

========== =========================================================================
key        content
========== =========================================================================
format     1
cluster    the cluster's name
began      Unix time of the first list, in milliseconds; all other times are
           milliseconds since then
from, now  the moment of the base, and that of the message
kinds      [workload, priority, milli-CPU, bytes, namespace, {resource: count}] each
reasons    [causes, example] each: why pods wait, and a sentence of the scheduler
names      of the pods, by number; a delta brings those of further pods
created    Unix times of the pods, in seconds
base       columns kind, node, state and reason: where the pods stood at first
nodes      rows at first, null for one that was not there: [name, zone, milli-CPU,
           bytes, pods, {resource: count}, cordoned, ready]
node_log   [time, number, row or null] each, as nodes change
log        six numbers a change, one after the other: time, pod, kind, node, state,
           reason; -1 stands for none, a state is a `PodState`
plans      `plan_row` each, with uid, phases ([time, phase] each) and gone, a time
notice     what the page has to say of the watch; empty while all is well
changeable whether plans can be approved and given up from here
========== =========================================================================

A delta adds to lists, and replaces plans of the same uid, notice and changeable.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from stowage_testbed.live_page.history import ABSENT, History, Numbers, Standing
from stowage_testbed.live_page.plans import plan_row
from stowage_testbed.live_page.seen import PodKind, seen_node, seen_pod
from stowage_testbed.observe.change import Change, Verb, name_of

FORMAT = 1
NS_PER_MS = 1_000_000
MOST_PLANS = 50
"""Plans that are shown; the oldest give way."""

Message = dict[str, Any]


class LiveModel:
    """The state of one cluster and how it came about.

    Parameters
    ----------
    cluster
        Its name, as the page shows it.
    history
        An empty one; a test brings a short one.
    """

    def __init__(self, cluster: str, history: History | None = None) -> None:
        self._cluster = cluster
        self._began_ms = 0
        self._from_ms = self._now_ms = 0
        self._history = history or History()
        # Neither shrinks: there are as many as workloads and causes were ever seen.
        self._kinds: Numbers[PodKind] = Numbers()
        self._reasons: Numbers[tuple[str, ...]] = Numbers()
        self._examples: list[str] = []
        self._names: list[str] = []
        self._created: list[int] = []
        self._nodes: Numbers[str] = Numbers()
        self._base_nodes: list[list[Any] | None] = []
        self._node_rows: list[list[Any] | None] = []
        self._node_log: list[list[Any]] = []
        self._plans: dict[str, Message] = {}
        self._notice = ""
        self._changeable = False
        self._news: Message = {}
        self._told = self._marks()
        self.renumbered = False

    def listed(self, changes: Iterable[Change]) -> None:
        """Take what a list shows; what it lacks is gone.

        The first list is where the history begins.
        """
        taken = list(changes)
        first = not self._history.pods.entries and not self._nodes.entries
        if first:
            began_ns = taken[0].receipt.wall_ns if taken else time.time_ns()
            self._began_ms = began_ns // NS_PER_MS
        self.take(taken)
        if first:
            self._history.settle()
            self._base_nodes, self._node_log = list(self._node_rows), []
            self._told = self._marks()
            return
        uids = {change.uid for change in taken}
        for uid in [uid for uid in self._history.present() if uid not in uids]:
            self._history.put(self._now_ms, uid, ABSENT)
        names = {change.name for change in taken if change.kind == "Node"}
        for node, name in enumerate(self._nodes.entries):
            if name not in names:
                self._put_node(node, None)

    def take(self, changes: Iterable[Change]) -> None:
        """Take changes in, in their order."""
        for change in changes:
            at_ms = change.receipt.wall_ns // NS_PER_MS - self._began_ms
            self._now_ms = max(self._now_ms, at_ms)
            match change.kind:
                case "Pod":
                    self._take_pod(change)
                case "Node":
                    self._take_node(change)
                case "PackingPlan":
                    self._take_plan(change)
        if self._history.full:
            self._cut()

    def say(self, notice: str) -> None:
        """Have the page say something of the watch; nothing, if that is empty."""
        if notice != self._notice:
            self._notice = self._news["notice"] = notice

    def allow(self, changeable: bool) -> None:
        """Say whether plans can be approved and given up from here."""
        if changeable != self._changeable:
            self._changeable = self._news["changeable"] = changeable

    def snapshot(self) -> Message:
        """Return all that there is to know."""
        return {
            "format": FORMAT,
            "cluster": self._cluster,
            "began": self._began_ms,
            "from": self._from_ms,
            "now": self._now_ms,
            "base": self._history.columns(),
            "nodes": self._base_nodes,
            "plans": list(self._plans.values()),
            "notice": self._notice,
            "changeable": self._changeable,
            **self._since((0,) * len(self._told)),
        }

    def delta(self) -> Message:
        """Return what is new since the last delta, empty if nothing is."""
        marks = self._marks()
        news = {name: new for name, new in self._since(self._told).items() if new}
        found = {**news, **self._news}
        if "plans" in found:
            found["plans"] = list(found["plans"].values())
        self._told, self._news = marks, {}
        return {"now": self._now_ms, **found} if found else {}

    def _marks(self) -> tuple[int, ...]:
        growing = (
            self._kinds.entries, self._reasons.entries, self._names, self._node_log,
            self._history.log,
        )  # fmt: skip
        return tuple(len(one) for one in growing)

    def _since(self, marks: tuple[int, ...]) -> Message:
        kinds, reasons, pods, nodes, log = marks
        causes = self._reasons.entries[reasons:]
        return {
            "kinds": [kind.row() for kind in self._kinds.entries[kinds:]],
            "reasons": list(zip(causes, self._examples[reasons:], strict=True)),
            "names": self._names[pods:],
            "created": self._created[pods:],
            "node_log": self._node_log[nodes:],
            "log": self._history.log[log:].tolist(),
        }

    def _take_pod(self, change: Change) -> None:
        if change.verb is Verb.DELETED:
            # Of a pod that was never seen there is nothing to tell.
            if change.uid in self._history.pods:
                self._history.put(self._now_ms, change.uid, ABSENT)
            return
        pod = seen_pod(change.body)
        number = self._history.pods.of(change.uid)
        if number == len(self._names):
            self._names.append(pod.name)
            self._created.append(pod.created_s)
        standing = Standing(
            kind=self._kinds.of(pod.kind),
            node=self._node_number(pod.node) if pod.node else -1,
            state=pod.state,
            reason=self._reason(pod.causes, pod.said),
        )
        self._history.put(self._now_ms, change.uid, standing)

    def _reason(self, causes: tuple[str, ...], said: str) -> int:
        if not causes:
            return -1
        reason = self._reasons.of(causes)
        if reason == len(self._examples):
            self._examples.append(said)
        return reason

    def _node_number(self, name: str) -> int:
        node = self._nodes.of(name)
        if node == len(self._node_rows):
            self._node_rows.append(None)
            self._base_nodes.append(None)
        return node

    def _take_node(self, change: Change) -> None:
        deleted = change.verb is Verb.DELETED
        row = None if deleted else seen_node(change.body).row()
        self._put_node(self._node_number(name_of(change.body)), row)

    def _put_node(self, node: int, row: list[Any] | None) -> None:
        if self._node_rows[node] != row:
            self._node_rows[node] = row
            self._node_log.append([self._now_ms, node, row])

    def _take_plan(self, change: Change) -> None:
        before = self._plans.pop(change.uid, {})
        if change.verb is Verb.DELETED:
            row = {**before, "gone": self._now_ms} if before else {}
        else:
            row = plan_row(change.body)
            phases = list(before.get("phases", ()))
            if not phases or phases[-1][1] != row["phase"]:
                phases.append([self._now_ms, row["phase"]])
            row |= {"uid": change.uid, "phases": phases, "gone": None}
        if not row:
            return
        self._plans[change.uid] = row
        self._news.setdefault("plans", {})[change.uid] = row
        for uid in list(self._plans)[:-MOST_PLANS]:
            del self._plans[uid]

    def _cut(self) -> None:
        """Forget the older half; pods have other numbers then."""
        names = dict(zip(self._history.pods.entries, self._names, strict=True))
        created = dict(zip(self._history.pods.entries, self._created, strict=True))
        self._history = self._history.cut()
        self._names = [names[uid] for uid in self._history.pods.entries]
        self._created = [created[uid] for uid in self._history.pods.entries]
        first_ms = self._history.log[0]
        kept = []
        for at_ms, node, row in self._node_log:
            if at_ms < first_ms:
                self._base_nodes[node] = row
            else:
                kept.append([at_ms, node, row])
        self._node_log, self._from_ms = kept, first_ms
        self.renumbered = True
