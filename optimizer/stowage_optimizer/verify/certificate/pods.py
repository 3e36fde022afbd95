"""A claim, the pods that it is about, and those that stay where they are.

A claim is the bound that a plan states for one phase of a tier, with its prices.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.accounting import count_tiers
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.certificate.conflict_amounts import Amounts
from stowage_optimizer.verify.certificate.device_weights import DeviceAmounts
from stowage_optimizer.verify.devices import held_otherwise
from stowage_optimizer.verify.index import amounts
from stowage_optimizer.verify.movability import budget_problems


@dataclass(frozen=True, slots=True)
class Claim:
    """No plan that is as good in everything before has more (or disrupts less).

    Parameters
    ----------
    priority
        Of the tier.
    phase
        `PHASE_PLACE` or `PHASE_DISRUPT`.
    bound
        Most pods placed, or least disruption.
    """

    priority: int
    phase: pb.Phase
    bound: int
    dual: pb.DualBound

    @property
    def name(self) -> str:
        """What the claim is of, for messages."""
        return f"{self.priority}/{pb.Phase.Name(self.phase)}"


def claims(plan: pb.Plan) -> Iterator[Claim]:
    """Yield each bound of ``plan`` that comes with prices."""
    for tier in plan.tiers:
        if tier.place.HasField("dual_bound"):
            yield Claim(tier.priority, pb.PHASE_PLACE, tier.upper_bound, tier.place.dual_bound)
        if tier.disrupt.HasField("dual_bound"):
            yield Claim(tier.priority, pb.PHASE_DISRUPT, tier.disruption_lower_bound, tier.disrupt.dual_bound)


@dataclass(frozen=True, slots=True)
class Group:
    """Equal pods with their prices; ``worth`` is what each of them counts for."""

    uids: tuple[str, ...]
    priority: int
    worth: int
    pod: int
    run: int


@dataclass(slots=True)
class Pods:
    """The pods of a claim.

    Parameters
    ----------
    left_alone
        Classes that the strategy refused, whose pods stay as they are.
    """

    case: Case
    claim: Claim
    amounts: Amounts
    left_alone: Collection[str]
    groups: list[Group] = field(init=False)
    fixed: set[str] = field(init=False)
    devices: DeviceAmounts = field(init=False)

    def __post_init__(self) -> None:
        case = self.case
        named = {uid for one in self.claim.dual.pods for uid in one.pod_uids}
        self.groups = [
            Group(tuple(one.pod_uids), case.priority(one.pod_uids[0]), case.worth(one.pod_uids[0]), one.pod, one.run)
            for one in self.claim.dual.pods
            if one.pod_uids and set(one.pod_uids) <= case.pods.keys()
        ]
        self.fixed = set()
        undisrupted = self._undisrupted_priorities()
        keeping = held_otherwise(case)
        for class_id, uids in case.index.members.items():
            priority = case.index.priority[class_id]
            fixed = {uid for uid in uids if case.before(uid)}
            alone = class_id in self.left_alone
            if not alone and priority not in undisrupted:
                held = {exempt for exempt in (False, True) if any(budget_problems(case, class_id, exempt=exempt))}
                fixed = {
                    uid
                    for uid in fixed
                    if not case.pods[uid].movable or case.pods[uid].exempt_from_budget in held or uid in keeping
                }
            self.fixed |= fixed
            # Without a price pods may go anywhere at no cost.
            free = tuple(uid for uid in uids if uid not in fixed and uid not in named)
            if free and not alone and priority >= self.claim.priority:
                self.groups.append(Group(free, priority, case.index.worth[class_id], 0, 0))
        weights = [dict(one.weights) for one in self.claim.dual.device_weights]
        self.devices = DeviceAmounts(case, weights, self.fixed)

    def problems(self) -> Iterator[str]:
        """Yield what makes the prices unfit to prove anything."""
        named = [uid for one in self.claim.dual.pods for uid in one.pod_uids]
        for uid, count in Counter(named).items():
            if uid not in self.case.pods:
                yield f"unknown pod {uid}"
            elif count > 1:
                yield f"{uid} is priced {count} times"
            elif uid in self.fixed:
                yield f"{uid} is priced, but stays in any case"
            elif not self._counts(uid):
                yield f"{uid} is priced, but is of a lower priority"
        for one in self.groups:
            kinds = {(self.case.priority(uid), self.case.worth(uid), _key(self.case.requests(uid))) for uid in one.uids}
            if len(kinds) > 1:
                yield f"the pods priced with {one.uids[0]} are not equal"
            if one.pod < 0 or one.run < 0:
                yield f"the price of {one.uids[0]} is negative"

    def load(self) -> dict[str, Counter[str]]:
        """Return what staying pods and reservations take of each node."""
        load: dict[str, Counter[str]] = {name: Counter() for name in self.case.nodes}
        for uid in self.fixed:
            load[self.case.before(uid)].update(self.amounts.taken(uid))
        for reservation in self.case.snapshot.reservations:
            load[reservation.node].update(amounts(reservation.held))
        return load

    def _counts(self, uid: str) -> bool:
        return self.case.priority(uid) >= self.claim.priority

    def _undisrupted_priorities(self) -> set[int]:
        """Return the priorities above, as far down as the plan disrupts no pod."""
        undisrupted = set()
        for priority, _before, _after, disruption in count_tiers(self.case):
            if priority <= self.claim.priority or disruption:
                break
            undisrupted.add(priority)
        return undisrupted


def _key(wanted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((name, amount) for name, amount in wanted.items() if amount))
