"""A policy on a trace, arm by arm: its figures, the proof of what was possible, and how both are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from stowage_testbed.amounts.price import MICROS
from stowage_testbed.api.label_selector import both
from stowage_testbed.observe.pod import key_of
from stowage_testbed.policyday.arms import Arm
from stowage_testbed.policyday.figures import ArmFigures, WindowFigures, figures_of
from stowage_testbed.policyday.policy import Policy
from stowage_testbed.policyday.trial import Settings, State, try_arm
from stowage_testbed.simulate import find_profile
from stowage_testbed.text.tables import Table
from stowage_testbed.trace.format import NodeSeen
from stowage_testbed.trace.reading import Trace
from stowage_testbed.whatif.emptying import Options, defragmentation_of
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.release import PlanLimits, release_of

PROOF_PROFILE = "deterministic"
"""Without preemption, as plans are judged."""

MOST_REASONS = 5
"""Reasons of an arm on the screen; JSON has all."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A policy with some arms on a trace of so many hours and nodes, which is called ``day``."""

    policy: str
    day: str
    hours: float
    nodes: int
    cool_down_s: float
    arms: tuple[ArmFigures, ...]

    def document(self) -> Mapping[str, Any]:
        """Return all of it as JSON values."""
        return asdict(self)


def try_policy(
    policy: Policy,
    name: str,
    day: Trace,
    arms: Sequence[Arm],
    settings: Settings,
    *,
    proof_s: float,
    say: Callable[[str], None],
) -> Tried:
    """Replay a trace, which is called ``name``, once with each arm.

    Parameters
    ----------
    proof_s
        Time for the proof at each window; with 0 nothing is proved.
    say
        Told of each arm that begins.

    Raises
    ------
    InputError
        The controller would refuse the policy's windows.
    StowageError
        As `try_arm` says.
    """
    prove = Prover(policy, proof_s) if proof_s else lambda _: None
    figures = []
    for arm in arms:
        say(f"{name}, arm {arm.name}")
        figures.append(figures_of(try_arm(arm, day, policy, settings, prove), day, policy.cool_down_s))
    return Tried(
        policy=policy.name,
        day=name,
        hours=day.lines[-1].t / 3600 if day.lines else 0.0,
        nodes=len({one.name for one in day.lines if isinstance(one, NodeSeen)}),
        cool_down_s=policy.cool_down_s,
        arms=tuple(figures),
    )


class Prover:
    """Computes how many nodes could be emptied at most as ``stowage defragment`` does, within what a policy allows.

    Pods that cool down when the window opens stay. The least gain is left aside: the bound holds with and without it.
    The time limit is for each state.
    """

    def __init__(self, policy: Policy, time_limit_s: float) -> None:
        release = release_of(None)
        own = release.schedulers[-1]
        if policy.schedulers:
            release = replace(release, schedulers=policy.schedulers)
        if policy.namespaces:
            selector = both(release.arguments.get("namespaceSelector") or {}, policy.namespaces)
            release = replace(release, arguments={**release.arguments, "namespaceSelector": selector})
        self._options = Options(PlanLimits(time_limit_s, policy.max_moves, release), own, nodes=policy.nodes)

    def __call__(self, state: State) -> int | None:
        """Return the most nodes that could be emptied; ``None`` if there are no pods.

        Raises
        ------
        StowageError
            The scheduler cannot read the objects, or the optimiser failed.
        """
        if not state["pods"]:
            return None
        objects = {
            "Node": state["nodes"],
            "Pod": pods_as_they_may_move(state),
            "PodDisruptionBudget": state["disruptionBudgets"],
        }
        inventory = inventory_of([{**one, "kind": kind} for kind, ones in objects.items() for one in ones])
        found = defragmentation_of(inventory, find_profile(PROOF_PROFILE), self._options)
        return found.before.nodes - found.least.nodes if found.least.nodes else None


def pods_as_they_may_move(state: State) -> list[dict[str, Any]]:
    """Return the pods; those that cool down say that they are not to be moved."""
    cooling = frozenset(state["coolingDown"])
    pods = []
    for pod in state["pods"]:
        metadata = pod["metadata"]
        if key_of(pod) in cooling:
            annotations = {**(metadata.get("annotations") or {}), "stowage.dev/do-not-move": "true"}
            metadata = {**metadata, "annotations": annotations}
        pods.append({**pod, "metadata": metadata})
    return pods


def make_tables(tried: Tried) -> Iterator[Table]:
    """Yield what fits on a screen."""
    yield Table(
        f"{tried.policy} on {tried.day}, in virtual time",
        (
            "arm", "nodes\nin use", "node\nhours", "cost", "pod hours\nwaited",
            "nodes\nemptied", "moves", "moves\na node", "budgets\nbroken", "moved\ntwice",
        ),
        tuple(
            (
                one.arm,
                f"{one.nodes_mean:.1f}",
                f"{one.node_hours:.0f}",
                f"{one.cost_micros / MICROS:.2f}" if one.cost_micros else "",
                f"{one.waiting_pod_hours:.2f}",
                str(one.emptied),
                str(one.moves),
                "" if one.moves_per_node is None else f"{one.moves_per_node:.1f}",
                str(one.budgets_broken),
                str(one.moved_twice),
            )
            for one in tried.arms
        ),
        (
            f"{tried.hours:.2f} h on {tried.nodes} nodes. Nodes in use are averaged over "
            f"time; moved twice is within {tried.cool_down_s / 3600:g} h.",
        ),
    )  # fmt: skip
    windows = (_window_row(arm, one) for arm in tried.arms for one in arm.windows)
    yield Table(
        "Windows",
        ("from", "until", "arm", "nodes\nbefore", "after", "emptied\n(at most)", "moves"),
        tuple(sorted(windows, key=lambda row: row[0])),
        (
            "In brackets: proved for the cluster as it was when the window opened; pods "
            "that come or go later may make more of it possible, or less.",
        ),
    )
    reasons = tuple(
        (arm.arm, str(times), reason)
        for arm in tried.arms
        for reason, times in list(arm.refused.items())[:MOST_REASONS]
    )
    if reasons:
        yield Table("What was left where it was", ("arm", "times", "why"), reasons)


def _window_row(arm: ArmFigures, one: WindowFigures) -> tuple[str, ...]:
    most = "" if one.most_emptied is None else f" ({one.most_emptied})"
    emptied = f"{one.emptied}{most}"
    times = (_clock(one.start_s), _clock(one.end_s))
    return (*times, arm.arm, str(one.nodes_before), str(one.nodes_after), emptied, str(one.moves))


def _clock(at_s: float) -> str:
    hours, seconds = divmod(round(at_s), 3600)
    return f"{hours:02}:{seconds // 60:02}"
