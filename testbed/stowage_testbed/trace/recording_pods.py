"""The life of each pod, as a watch reports it: came, bound, ended; and when that was.

Times go by the receipt, unless the watch was behind. The server's own stamps have whole seconds, and its clock may be
another. A receipt is finer, but late where a connection or the server stood still.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stowage_testbed.observe.change import JsonObject, name_of, namespace_of, uid_of
from stowage_testbed.observe.pod import FINISHED, node_of, read_pod
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.trace.format import How, Owner, PodBound, PodCame, PodEnded, PodLine, PodTemplate
from stowage_testbed.trace.reducing import CONTROLLERS, identify, is_of_host, reduce_pod

REMEMBERED = 200
"""Stamps from which the difference of the clocks is learned."""

STAMP_S = 1.0
"""A stamp's resolution: it is cut off."""

SLACK_S = 0.5
"""How much later than usual a receipt may be before it counts as late."""

Key = tuple[str, str]
"""Namespace and name."""

_HOW: Mapping[str, How] = {
    "PreemptionByScheduler": "preempted",
    "EvictionByEvictionAPI": "evicted",
    "DeletionByTaintManager": "evicted",
    "TerminationByKubelet": "evicted",
}
"""How a pod ended, by the reason of its condition `DisruptionTarget`."""


class Dating:
    """Turns receipts and stamps into times of a trace, whose time 0 is ``began``."""

    def __init__(self, began: Receipt) -> None:
        self._began = began
        self._ages: deque[float] = deque(maxlen=REMEMBERED)

    def at(self, receipt: Receipt) -> float:
        """Return the time of a receipt; none is before the beginning."""
        return max(0.0, receipt.seconds_since(self._began))

    def at_stamp(self, stamp: str) -> float:
        """Return the time of a stamp, below 0 if it was before the beginning."""
        return datetime.fromisoformat(stamp).timestamp() - self._began.wall_ns / NS_PER_S

    def date(self, receipt: Receipt, stamp: str | None) -> float:
        """Return when something happened that is reported as soon as it is stamped."""
        if stamp is None:
            return self.at(receipt)
        stamped = self.at_stamp(stamp)
        age = receipt.seconds_since(self._began) - stamped
        # The least age is the difference of the clocks and the way of the news.
        least = min(self._ages, default=age)
        if age <= least + STAMP_S + SLACK_S:
            self._ages.append(age)
            return self.at(receipt)
        return max(0.0, stamped + least + STAMP_S / 2)


@dataclass(slots=True)
class _Known:
    """A pod that has not gone; times are the trace's."""

    uid: str
    came: float
    bound: float | None = None
    runs_since: float | None = None
    ended: bool = False


class PodRecording:
    """Makes lines of what is seen of pods; ``templates`` has what these are like, by the id that their lines name."""

    def __init__(self, dating: Dating) -> None:
        self.templates: dict[str, PodTemplate] = {}
        self._dating = dating
        self._pods: dict[Key, _Known] = {}

    def see(self, body: JsonObject, receipt: Receipt, *, first: bool = False) -> Iterator[PodLine]:
        """Take a pod as it is now; with ``first``, as it was at the beginning, where one that is done is left out."""
        key, uid = (namespace_of(body), name_of(body)), uid_of(body)
        if is_of_host(body["spec"]):
            return
        known = self._pods.get(key)
        if known is not None and known.uid != uid:
            yield from self._end(key, receipt, "deleted")
            known = None
        if known is None:
            if first and _phase(body) in FINISHED:
                self._pods[key] = _Known(uid, 0.0, ended=True)
                return
            stamp = body["metadata"].get("creationTimestamp")
            came = 0.0 if first else self._dating.date(receipt, stamp)
            known = self._pods[key] = _Known(uid, came)
            of = self._name_template(reduce_pod(body))
            yield PodCame(t=came, namespace=key[0], name=key[1], of=of, owner=_find_top(body))
        yield from self._follow(key, known, body, receipt, first=first)

    def go(self, key: Key, receipt: Receipt, body: JsonObject) -> Iterator[PodLine]:
        """Take a pod's end, with what was last known of it."""
        known = self._pods.get(key)
        if known is not None:
            yield from self._follow(key, known, body, receipt, first=False)
            yield from self._end(key, receipt, _how_deleted(body))

    def keep_only(self, keys: set[Key], receipt: Receipt) -> Iterator[PodLine]:
        """Take a list of all pods: those that it lacks went unseen."""
        for key in [one for one in self._pods if one not in keys]:
            yield from self._end(key, receipt, "deleted")

    def _follow(self, key: Key, known: _Known, body: JsonObject, receipt: Receipt, *, first: bool) -> Iterator[PodLine]:
        node, phase = node_of(body), _phase(body)
        if node and known.bound is None:
            stamp = _read_condition(body, "PodScheduled").get("lastTransitionTime")
            known.bound = 0.0 if first else self._dating.date(receipt, stamp)
            known.bound = max(known.bound, known.came)
            yield PodBound(t=known.bound, namespace=key[0], name=key[1], node=node)
        if phase == "Running" and known.runs_since is None:
            known.runs_since = self._dating.at(receipt)
            started = (body.get("status") or {}).get("startTime")
            if first and started:
                known.runs_since = self._dating.at_stamp(started)
        if phase in FINISHED and not known.ended:
            if known.runs_since is None and phase == "Succeeded":
                known.runs_since = known.bound
            how: How = "succeeded" if phase == "Succeeded" else _how_failed(body)
            yield self._make_end(key, known, receipt, how)
            known.ended = True

    def _end(self, key: Key, receipt: Receipt, how: How) -> Iterator[PodLine]:
        known = self._pods.pop(key)
        if not known.ended:
            yield self._make_end(key, known, receipt, how)

    def _make_end(self, key: Key, known: _Known, receipt: Receipt, how: How) -> PodEnded:
        t = max(self._dating.at(receipt), known.bound or known.came)
        since = known.runs_since
        ran_s = None if since is None else round(max(0.0, t - since), 3)
        return PodEnded(t=t, namespace=key[0], name=key[1], how=how, ran_s=ran_s)

    def _name_template(self, template: PodTemplate) -> str:
        salt = 0
        while True:
            name = identify(template, salt)
            if self.templates.setdefault(name, template) == template:
                return name
            salt += 1


def _find_top(body: JsonObject) -> Owner | None:
    """Return a pod's controller if it is one that is recorded, its Deployment rather than its ReplicaSet."""
    pod = read_pod(body)
    return Owner(*pod.top) if pod.owner_kind in CONTROLLERS else None


def _how_failed(pod: JsonObject) -> How:
    how = _how_deleted(pod)
    if how != "deleted":
        return how
    return "evicted" if (pod.get("status") or {}).get("reason") == "Evicted" else "failed"


def _how_deleted(pod: JsonObject) -> How:
    return _HOW.get(_read_condition(pod, "DisruptionTarget").get("reason", ""), "deleted")


def _read_condition(pod: JsonObject, kind: str) -> Mapping[str, Any]:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    found = (one for one in conditions if one["type"] == kind and one["status"] == "True")
    return next(found, {})


def _phase(pod: JsonObject) -> str:
    return str((pod.get("status") or {}).get("phase"))
