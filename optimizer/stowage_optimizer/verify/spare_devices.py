"""Devices that an evicted pod could have had beside the pods that need not make way for it."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.device_room import DeviceRoom, Unfit, first_fit
from stowage_optimizer.verify.devices import arrivals_in_turn, leaves

Stays = Callable[[str, int], bool]
"""Whether a pod that the plan leaves or brings somewhere need not make way for that priority."""


class SpareDevices:
    """Says whether devices would be left for an evicted pod.

    Which ones pods get depends on who comes before. Pods come as the plan says, without those that must make way, and
    the evicted one comes last, or stays at home from the start. If that works, it could have stayed placed; if it does
    not, nothing is said.
    """

    def __init__(self, case: Case, stays: Stays) -> None:
        self._case = case
        self._stays = stays
        self._coming: defaultdict[str, list[str]] = defaultdict(list)
        asking = case.index.devices.requests_of if case.index.devices else {}
        for one in arrivals_in_turn(case) if asking else ():
            if case.class_id(one.uid) in asking:
                self._coming[one.node].append(one.uid)
        self._fits: dict[tuple[str, str, int], bool] = {}

    def fit(self, uid: str, node: str) -> bool:
        """Return whether the evicted pod ``uid`` would surely have devices on ``node``."""
        case, known = self._case, self._case.index.devices
        class_id, priority = case.class_id(uid), case.priority(uid)
        if known is None or class_id not in known.requests_of:
            return True
        if node == case.before(uid):
            return self._looks(uid, node, priority, [])
        key = class_id, node, priority
        if key not in self._fits:
            self._fits[key] = self._looks("", node, priority, [class_id])
        return self._fits[key]

    def _looks(self, stayer: str, node: str, priority: int, last: Sequence[str]) -> bool:
        """Return whether all find devices that come, and then pods of the classes ``last``."""
        case, known = self._case, self._case.index.devices
        layout = known.layout_of.get(node) if known else None
        if known is None or layout is None:
            return False
        room = DeviceRoom(layout)
        for device, uid, amounts in known.holdings[node]:
            if uid == stayer or not self._is_on(uid, node) or self._remains(uid, node, priority):
                room.hold(device, amounts)
        coming = [case.class_id(uid) for uid in self._coming[node] if self._stays(uid, priority)]
        every = (first_fit(room, known.requests_of[class_id]) for class_id in (*coming, *last))
        return not any(isinstance(one, Unfit) for one in every)

    def _is_on(self, uid: str, node: str) -> bool:
        return uid in self._case.pods and self._case.before(uid) == node

    def _remains(self, uid: str, node: str, priority: int) -> bool:
        return not leaves(self._case, uid, node) and self._stays(uid, priority)
