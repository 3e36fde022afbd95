"""The engine behind one question: what if pods moved. The optimiser makes plans, and the scheduler judges them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.optimizer_service.service import RunningService, no_answer, running_service
from stowage_testbed.simulate.instance import Continued, Instance, PlanJudgement, Question, Verification
from stowage_testbed.simulate.process import SchedulerVerifier, Simulator, find_profile
from stowage_testbed.whatif.devices import needs_in_words
from stowage_testbed.whatif.findings import NotJudged
from stowage_testbed.whatif.inventory import (
    GROUP_FIELD,
    Inventory,
    Manifest,
    part_of,
    shown_pods,
    uid_of,
    unreadable_needs,
)
from stowage_testbed.whatif.settings import PlanLimits

ID = "whatif"
PROFILE = "deterministic"  # A KubeSchedulerConfiguration without preemption
REHEARSALS = 8  # How often a plan that is refused is made again, without what was refused
UNJUST_EVICTION, LIMIT = "unjust-eviction", "limit"  # Reasons of refused plans
CONTINUING_SHARE = 0.5  # Of the time that is left, at most, for letting the scheduler place what waits
PLACING_SHARE, UNRULED_SHARE = 0.6, 0.3
"""Of what is left, for the plan that places pods, and then for the question whom rules
keep from a place; the rest is for emptying nodes."""

FIRST_SHARE = 0.8  # Of a part's time, for each solve: a plan that is refused is made again
LEAST_SHARE, SMALL, SURE_SOLVES = 0.05, 2000, 4
"""Of the whole time, for each of so many solves of every part; but where there are more objects than that, for the
first one of the placing only: there the scheduler takes long to judge a plan, too."""

LEAST_S = 0.1  # With less there is no use in asking the optimiser
GROUP_GATE = "GenericWorkload"
"""The gate that groups of pods take."""

BASE_BYTES, BYTES_PER_OBJECT = 200 << 20, 24 << 10
"""Of a scheduler's process, whose garbage would otherwise be four times what it holds."""

TAINT = {"key": "stowage.dev/emptying", "effect": "NoSchedule"}
AGAIN = "-again"  # Added to a pod's name, for its replacement
PATIENCE = 4  # There must be time for so many rehearsals, for those that fail to be told apart


@dataclass(slots=True)
class Allowance:
    """The seconds for a whole answer about so many objects, from when it is made."""

    limit_s: float
    objects: int = 0
    clock: Callable[[], float] = time.monotonic
    _ends: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends = self.clock() + self.limit_s

    def left_s(self) -> float:
        """Return the seconds that are left; negative where it is over."""
        return self._ends - self.clock()

    def continuing_s(self, reading_s: float = 0.0) -> float:
        """Return how long the scheduler may place what waits, after so much reading."""
        return max(LEAST_S, CONTINUING_SHARE * (self.left_s() - reading_s))

    def solves_s(self, share: float, reserved_s: float) -> Iterator[float]:
        """Yield how long each solve of a part may take, until its share of what is left and not reserved is over.

        Some solves are sure all the same, since processes take seconds to start on a busy machine: those of the plan
        that places pods, and what takes no time to speak of.
        """
        ends = self.clock() + share * (self.left_s() - reserved_s)
        sure_s = max(2 * LEAST_S, LEAST_SHARE * self.limit_s)
        for _ in range(SURE_SOLVES if self.objects <= SMALL else int(share == PLACING_SHARE)):
            yield max(sure_s, FIRST_SHARE * (ends - self.clock()))
        while (left := ends - self.clock()) >= LEAST_S:
            yield max(LEAST_S, FIRST_SHARE * left)


@dataclass(slots=True)
class Proposal:
    """A plan for a snapshot that every plugin of the scheduler accepts; empty if none was accepted in time.

    The scheduler then ``continued`` with the pods that wait, unless the plan changes nothing. ``forbidden`` pairs of
    pods and nodes were refused within one plan; waiting pods were ``dropped``, since plans evicted others for them; all
    evictable pods counted ``alike``. What is ruled out of the snapshot is ruled out of a copy.
    """

    snapshot: pb.Snapshot
    never_preempt: frozenset[str]
    plan: pb.Plan = field(default_factory=pb.Plan)
    continued: Continued | None = None
    refusals: Sequence[pb.Refusal] = ()
    objections: list[str] = field(default_factory=list)
    forbidden: list[tuple[str, str]] = field(default_factory=list)
    dropped: int = 0
    alike: bool = False
    in_time: bool = False
    _copied: bool = False

    def rule_out(self, plan: pb.Plan, said: PlanJudgement) -> bool:
        """Rule out what was refused; return whether that changes anything."""
        if not self._copied:
            own = pb.Snapshot()
            own.CopyFrom(self.snapshot)
            self.snapshot, self._copied = own, True
        if said.reason == UNJUST_EVICTION:
            return self._spare(plan)
        if said.reason == LIMIT:
            for pod in self.snapshot.pods:
                if pod.uid in said.pods:
                    pod.movable, pod.immovable_reason = False, said.detail
            return bool(said.pods)
        pods = {pod.uid: pod for pod in self.snapshot.pods}
        targets = {one.pod_uid: one.node for one in plan.placements}
        targets |= {one.pod_uid: one.to_node for one in plan.moves}
        pairs = [(pods[uid], targets[uid]) for uid in said.pods if uid in targets]
        for pod, node in pairs:
            self.snapshot.forbidden_pairs.add(class_id=pod.class_id, node=node)
            self.forbidden.append((f"{pod.namespace}/{pod.name}", node))
        return bool(pairs)

    def refused(self) -> list[NotJudged]:
        """Return what the optimiser did not take in."""
        needs = {f"class {one.id}": needs_in_words(one.unsupported) for one in self.snapshot.pod_classes}
        return [
            NotJudged(
                one.reason, one.subject, f"it needs {needs[one.subject]}" if needs.get(one.subject) else one.detail
            )
            for one in self.refusals
        ]

    def objected(self) -> list[NotJudged]:
        """Return what the scheduler's plugins said of the plans that they refused."""
        return [NotJudged("a plan that the scheduler's plugins refused", "", said) for said in self.objections]

    def _spare(self, plan: pb.Plan) -> bool:
        """See to it that nobody is evicted for a pod that must not preempt.

        If one priority waits, and no pod of it may preempt, all that run count as no less important. Else the pods that
        the plan places and that must not preempt are dropped, as the plugin does.
        """
        classes = {one.id: one for one in self.snapshot.pod_classes}
        waiting = [pod for pod in self.snapshot.pods if not pod.node]
        priorities = {classes[pod.class_id].priority for pod in waiting}
        if not self.alike and len(priorities) == 1 and all(pod.uid in self.never_preempt for pod in waiting):
            for one in self.snapshot.pod_classes:
                # No pod of a class whose priority this raises waits.
                one.priority = max(one.priority, *priorities)
            self.alike = True
            return True
        placed = {one.pod_uid for one in plan.placements} & self.never_preempt
        kept = [pod for pod in self.snapshot.pods if pod.uid not in placed]
        self.dropped += len(placed)
        del self.snapshot.pods[:]
        self.snapshot.pods.extend(kept)
        return bool(placed)


class Engine:
    """An optimiser, and schedulers that judge its plans.

    After `read` it knows the cluster, and how long reading takes.
    """

    first: Verification
    reading_s: float

    def __init__(self, inventory: Inventory, limits: PlanLimits, service: Future[RunningService]) -> None:
        self.profile = find_profile(PROFILE)
        self.inventory = inventory
        self.limits = limits
        self.allowance = Allowance(limits.time_limit_s, len(inventory.nodes) + len(inventory.pods))
        self.release = limits.release
        self.of_unread = unreadable_needs(inventory)
        pods = shown_pods(inventory, self.release.schedulers)
        self.instance = Instance(ID, inventory.nodes, pods, inventory.objects, observed=True)
        self.question = Question(self.instance, policy=self.release.policy, arguments=limits.arguments())
        self._service = service

    def verifier(self) -> SchedulerVerifier:
        """Return a scheduler for a single use.

        Its garbage has a soft limit: the solver and the next one want memory, too.
        """
        instance, gates = self.instance, self.release.feature_gates
        if GROUP_GATE not in gates and any(part_of(pod, "spec").get(GROUP_FIELD) for pod in instance.pods):
            # The API server has it on where pods are in groups.
            gates = ",".join(filter(None, (gates, f"{GROUP_GATE}=true")))
        objects = len(instance.pods) + len(instance.nodes) + len(instance.objects)
        return SchedulerVerifier(
            self.profile,
            feature_gates=gates,
            environment={"GOMEMLIMIT": str(BASE_BYTES + BYTES_PER_OBJECT * objects)},
            way_out="what-if has no option for that: ask about a part of the cluster, as "
            "with the nodes of one pool and their pods in a file for --file",
            minor=self.inventory.minor,
        )

    def read(self, verifier: SchedulerVerifier, question: Question) -> pb.Snapshot:
        """Have the scheduler read the cluster, and return it for the optimiser."""
        self.first = verifier.verify(question)
        self.reading_s = self.limits.time_limit_s - self.allowance.left_s()
        return self.first.snapshot

    def proposal(self, question: Question, snapshot: pb.Snapshot, objective: pb.Objective, share: float) -> Proposal:
        """Return a plan that the scheduler's plugins accept, in a share of the time that is left."""
        pods = self.inventory.pods
        never = frozenset(uid_of(pod) for pod in pods if part_of(pod, "spec").get("preemptionPolicy") == "Never")
        made = Proposal(snapshot, never)
        limits = self.limits.bounds()
        for time_s in islice(self.allowance.solves_s(share, self.reading_s), REHEARSALS):
            options = pb.SolveOptions(
                time_limit_s=time_s,
                policy=self.release.policy,
                objective=objective,
                max_moves=limits.get("maxMoves"),
                max_evictions=limits.get("maxEvictions"),
                max_disruptions_per_owner=limits.get("maxPerWorkload"),
            )
            solved = self._solve(made.snapshot, options)
            made.refusals, made.in_time = tuple(solved.refusals), True
            if not (solved.plan.placements or solved.plan.moves or solved.plan.evictions):
                made.plan = solved.plan
                return made
            continue_s = 0.0 if question.consolidates else self.allowance.continuing_s(self.reading_s)
            asked = replace(question, forbidden=tuple(made.forbidden), plans=(solved.plan,), continue_s=continue_s)
            with self.verifier() as verifier:
                judged = verifier.judge(asked)
            (said,) = judged.of_plans
            if said.accepted:
                made.plan, made.continued = solved.plan, judged.continued
                return made
            made.objections.append(said.detail)
            if not made.rule_out(solved.plan, said):
                break
        # No pod moves: that is always allowed.
        made.dropped, made.alike = 0, False
        return made

    def without_limits(self, snapshot: pb.Snapshot) -> pb.Plan | None:
        """Return a plan that nobody judged, with any number of moves; ``None`` if there is no time."""
        for time_s in self.allowance.solves_s(UNRULED_SHARE, self.reading_s):
            return self._solve(snapshot, pb.SolveOptions(time_limit_s=time_s, policy=self.release.policy)).plan
        return None

    def _solve(self, snapshot: pb.Snapshot, options: pb.SolveOptions) -> pb.SolveUpdate:
        last = self._service.result().last_answer(pb.SolveRequest(snapshot=snapshot, options=options))
        if last.end_reason in (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT):
            raise no_answer(last.message)
        return last


@contextmanager
def running_engine(inventory: Inventory, limits: PlanLimits) -> Iterator[Engine]:
    """Yield an engine whose optimiser starts while the scheduler reads."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        yield Engine(inventory, limits, pool.submit(stack.enter_context, running_service()))


Leaving = Mapping[str, Sequence[str]]
"""Nodes that are to be emptied, in their order, and the pods that leave each, told by UID."""

Rehearsal = tuple[Mapping[str, str], Mapping[str, str]]
"""The node of each replacement, by the UID of the pod that it replaces, and why nodes failed."""


def rehearse(
    simulator: Simulator, instance: Instance, closed: frozenset[str], used: frozenset[str], leaving: Leaving
) -> Rehearsal:
    """Find out whether the pods' own scheduler finds a place for each replacement when nodes are emptied in that order.

    Nodes to be emptied are tainted, and the closed ones: idle ones, which the scheduler would take into use. Pods are
    evicted in the plan's order, and the scheduler places each replacement by its own filters and scores.
    """
    pods, changes = list(instance.pods), list[dict[str, Any]]()
    nodes = {str(one["metadata"]["name"]): one for one in instance.nodes}
    waiting = [pod for pod in pods if not part_of(pod, "spec").get("nodeName")]
    tainted = dict[str, Manifest]()
    for name in (name for name in nodes if name in closed or name in leaving):
        spec = part_of(nodes[name], "spec")
        tainted[name] = {**nodes[name], "spec": {**spec, "taints": [*(spec.get("taints") or ()), TAINT]}}
    if waiting:
        # They get first what they would get as things are.
        changes += ({"after": len(pods), "node": node} for node in tainted.values())
    else:
        nodes |= tainted
    by_uid = {uid_of(pod): pod for pod in pods}
    evicted = [(node, uid, by_uid[uid], _replacement(by_uid[uid])) for node, uids in leaving.items() for uid in uids]
    for _, _, pod, anew in evicted:
        changes.append({"after": len(pods), "podGone": key_of(pod)})
        pods.append(anew)
    found = simulator.place(
        replace(instance, nodes=tuple(nodes.values()), pods=tuple(pods), changes=tuple(changes), once=True)
    )

    targets, failed = dict[str, str](), dict[str, str]()
    for pod in waiting:
        if (goes := found.nodes.get(key_of(pod))) in leaving and goes:
            failed[goes] = f"{key_of(pod)}, which waits, goes there"
    for left, uid, pod, anew in evicted:
        goes = found.nodes.get(key_of(anew))
        if goes is None:
            failed[left] = found.reasons.get(key_of(anew), "no place was found")
            continue
        targets[uid] = goes
        if goes in leaving:
            failed[goes] = f"{key_of(pod)} tolerates every taint"
        elif goes not in used:
            failed[left] = f"a replacement takes {goes} into use"
    return targets, failed


def _replacement(pod: Manifest) -> Manifest:
    """Return the pod that its controller makes when this one is evicted."""
    meta, spec = pod["metadata"], dict(part_of(pod, "spec"))
    spec.pop("nodeName", None)
    kept = {name: meta[name] for name in ("namespace", "labels", "annotations", "ownerReferences") if name in meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, "name": f"{meta['name']}{AGAIN}"}, "spec": spec}


def key_of(pod: Manifest, default: str = "default") -> str:
    """Return ``namespace/name``."""
    meta = pod["metadata"]
    return f"{meta.get('namespace', default)}/{meta['name']}"


def most_that_holds(
    rehearse: Callable[[Leaving], Rehearsal],
    wanted: Leaving,
    left_s: Callable[[], float],
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Leaving, Mapping[str, str], Mapping[str, str]]:
    """Return the nodes that can be emptied together, where their pods go, and why the other nodes cannot.

    While some of the wanted nodes, the best of which come first, fail, the last half of these is left out, or all where
    there is little time; then those are tried again one by one.
    """
    why, chosen = dict[str, str](), dict(wanted)
    while True:
        began = clock()
        targets, failures = rehearse(chosen) if chosen else ({}, {})
        takes_s = clock() - began
        failed = [node for node in chosen if node in failures]
        if not failed:
            break
        for node in failed[len(failed) // 2 :] if left_s() > PATIENCE * takes_s else failed:
            why[node] = failures[node]
            del chosen[node]
    for one in [node for node in wanted if node in why]:
        if left_s() < takes_s:
            break
        more = {node: pods for node, pods in wanted.items() if node in chosen or node == one}
        again, failures = rehearse(more)
        if not failures:
            chosen, targets = more, again
            del why[one]
    return chosen, targets, why
