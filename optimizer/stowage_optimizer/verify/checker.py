"""Every rule, one after the other; first, that every name is known and used truly."""

from collections import Counter
from collections.abc import Callable, Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.accounting import (
    check_better,
    check_bounds,
    check_gains,
    check_limits,
    check_nodes_in_use,
    check_tiers,
)
from stowage_optimizer.verify.anti_affinity import check_anti_affinity
from stowage_optimizer.verify.arrival_order import check_order
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.devices import check_devices, snapshot_faults
from stowage_optimizer.verify.gangs import check_gangs
from stowage_optimizer.verify.index import Index
from stowage_optimizer.verify.movability import check_budgets, check_movability, check_unverifiable
from stowage_optimizer.verify.placements import check_capacity, check_eligibility, check_ports
from stowage_optimizer.verify.policy import check_policy
from stowage_optimizer.verify.violation import Violation


def check_snapshot_id(case: Case) -> Iterator[Violation]:
    """Yield a violation if the plan answers another snapshot."""
    if case.plan.snapshot_id != case.snapshot.id:
        yield Violation("snapshot-id", case.plan.snapshot_id or "(none)", f"the snapshot is {case.snapshot.id}")


def check_snapshot(case: Case) -> Iterator[Violation]:
    """Yield what makes the snapshot itself unfit for checking a plan."""
    snapshot = case.snapshot
    kinds = (
        ("pod", case.pods, snapshot.pods, "uid"),
        ("node", case.nodes, snapshot.nodes, "name"),
        ("class", case.classes, snapshot.pod_classes, "id"),
    )
    for kind, known, messages, key in kinds:
        # Nearly all are sound, and then there is nothing to count.
        if len(known) == len(messages):
            continue
        for name, count in Counter(getattr(one, key) for one in messages).items():
            if count > 1:
                yield Violation("snapshot", name, f"{kind} appears {count} times")
    if not case.index.present <= case.classes.keys():
        for pod in snapshot.pods:
            if pod.class_id not in case.classes:
                yield Violation("snapshot", pod.uid, f"unknown class {pod.class_id}")
    held = {reservation.node for reservation in snapshot.reservations}
    for node in sorted(case.index.unknown_nodes | (held - case.nodes.keys() - {""})):
        yield Violation("snapshot", node, "unknown node")
    for subject, problem in snapshot_faults(snapshot):
        yield Violation("snapshot", subject, problem)


def check_references(case: Case) -> Iterator[Violation]:
    """Yield pods and nodes that are unknown, and pods that are named twice."""
    placed, moved, evicted = case.named
    steps = [*placed, *moved, *evicted]
    for uid, count in Counter(one.uid for one in steps).items():
        if count > 1:
            yield Violation("duplicate", uid, f"is named {count} times")
    for one in steps:
        if one.uid not in case.pods:
            yield Violation("unknown-pod", one.uid, "is not in the snapshot")
    nodes = [(one.target, one.uid) for one in (*placed, *moved)]
    nodes += [(one.source, one.uid) for one in (*moved, *evicted)]
    for node, uid in nodes:
        if node not in case.nodes:
            yield Violation("unknown-node", node, f"for pod {uid}")


def check_origins(case: Case) -> Iterator[Violation]:
    """Yield pods that are not where the plan takes them from."""
    claims = (("is placed", case.placements), ("is moved", case.moves), ("is evicted", case.evictions))
    for verb, steps in claims:
        for one in steps:
            if one.source != one.home:
                claimed, actual = one.source or "pending", one.home or "pending"
                yield Violation("origin", one.uid, f"{verb} from {claimed}, is at {actual}")
    for one in case.moves:
        if one.source == one.target:
            yield Violation("origin", one.uid, f"moves to its own {one.target}")


Rule = Callable[[Case], Iterator[Violation]]

NAMES: tuple[Rule, ...] = (check_snapshot_id, check_references)
"""Rules that must hold before the others can even look, as the snapshot's own must."""

RULES: tuple[Rule, ...] = (
    check_origins,
    check_capacity,
    check_eligibility,
    check_ports,
    check_devices,
    check_anti_affinity,
    check_order,
    check_gangs,
    check_movability,
    check_budgets,
    check_unverifiable,
    check_policy,
    check_tiers,
    check_bounds,
    check_better,
    check_nodes_in_use,
    check_limits,
    check_gains,
)


class Checker:
    """Checks plans for one snapshot, which is looked through only once.

    Parameters
    ----------
    asked
        The other options of the request; without them a plan is to place pods, and
        may disrupt as many as it likes.
    """

    def __init__(self, snapshot: pb.Snapshot, policy: pb.Policy, asked: pb.SolveOptions | None = None) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._asked = asked or pb.SolveOptions()
        self._index = Index(snapshot)
        self._unfit = list(check_snapshot(self._case(pb.Plan())))

    def violations(self, plan: pb.Plan, stop: Callable[[], bool] = lambda: False) -> list[Violation] | None:
        """Return everything that is wrong with ``plan``.

        None if ``stop``, which is called between two rules, returned True before the
        end.
        """
        case = self._case(plan)
        broken = self._unfit + [one for rule in NAMES for one in rule(case)]
        if broken:
            return broken
        for rule in RULES:
            if stop():
                return None
            broken += rule(case)
        return broken

    def _case(self, plan: pb.Plan) -> Case:
        return Case(self._snapshot, plan, self._policy, self._asked, self._index)


def verify_plan(
    snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy, asked: pb.SolveOptions | None = None
) -> list[Violation]:
    """Return everything that is wrong with ``plan``; nothing if it may be carried out.

    The parameters are those of `Checker`.
    """
    return Checker(snapshot, policy, asked).violations(plan) or []
