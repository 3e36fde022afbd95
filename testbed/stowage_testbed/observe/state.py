"""The state of the cluster as the watches last reported it."""

from collections.abc import Iterable

from stowage_testbed.observe.change import Change, JsonObject, Receipt, Verb, namespace_of
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.plan import ObservedPlan, read_plan
from stowage_testbed.observe.pod import Pod, read_pod
from stowage_testbed.observe.raw_body import BodyFile, RawBody


class State:
    """All objects of the watched kinds. Only the observer changes it."""

    def __init__(self) -> None:
        self._bodies: dict[str, dict[str, JsonObject]] = {}
        self._plans: dict[str, ObservedPlan] = {}
        self._plan_order: dict[str, tuple[str, int]] = {}
        self._changed: dict[str, Receipt] = {}
        self.devices = DeviceBook()

    def apply(self, change: Change) -> None:
        """Take in one change."""
        bodies = self._bodies.setdefault(change.kind, {})
        self._changed[change.kind] = change.receipt
        self.devices.take(change)
        if change.verb is Verb.DELETED:
            bodies.pop(change.uid, None)
            self._plans.pop(change.uid, None)
            return
        bodies[change.uid] = change.body
        if change.kind == "PackingPlan":
            plan = read_plan(change.body)
            self._plans[change.uid] = plan
            # A list is in the order of names, a stamp has whole seconds.
            place = (plan.created, len(self._plan_order))
            self._plan_order.setdefault(change.uid, place)

    def drop_kind(self, kind: str) -> None:
        """Leave out all objects of a kind."""
        self._bodies.pop(kind, None)

    def find_vanished(self, kind: str, listed: Iterable[Change]) -> list[JsonObject]:
        """Return the objects of a kind that a new list no longer holds."""
        present = {change.uid for change in listed}
        known = self._bodies.get(kind, {})
        return [body for uid, body in known.items() if uid not in present]

    def list_all(self, receipt: Receipt) -> list[Change]:
        """Return all objects as a list of this moment would show them."""
        return [
            Change(kind, Verb.LISTED, receipt, body)
            for kind, bodies in self._bodies.items()
            for body in bodies.values()
        ]

    def move_to(self, file: BodyFile) -> None:
        """Have all objects lie in another file."""
        for bodies in self._bodies.values():
            for uid, body in bodies.items():
                bodies[uid] = body.moved_to(file) if isinstance(body, RawBody) else body

    def last_change(self, kind: str) -> Receipt | None:
        """Return when an object of this kind last changed."""
        return self._changed.get(kind)

    def bodies(self, kind: str, namespace: str | None = None) -> list[JsonObject]:
        """Return the objects of a kind as JSON, of one namespace if one is given."""
        return [
            body for body in self._bodies.get(kind, {}).values() if namespace is None or namespace_of(body) == namespace
        ]

    def pods(self, namespace: str) -> list[Pod]:
        """Return the pods of a namespace that still claim room, by name."""
        return [pod for pod in self.all_pods(namespace) if pod.live]

    def all_pods(self, namespace: str) -> list[Pod]:
        """Return every pod of a namespace, also those that go, by name."""
        # Read on demand: what a burst changes in between is never parsed.
        chosen = (read_pod(body) for body in self.bodies("Pod", namespace))
        return sorted(chosen, key=lambda pod: pod.name)

    def plans(self) -> list[ObservedPlan]:
        """Return the plans, the oldest first, and as first seen within a second."""
        return sorted(self._plans.values(), key=lambda plan: self._plan_order[plan.uid])
