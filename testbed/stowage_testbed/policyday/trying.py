"""A policy on a day, arm by arm."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stowage_testbed.policyday.arms import Arm
from stowage_testbed.policyday.figures import figures_of
from stowage_testbed.policyday.policy import Policy
from stowage_testbed.policyday.proving import Prover
from stowage_testbed.policyday.screen import Tried
from stowage_testbed.policyday.trial import Settings, try_arm
from stowage_testbed.trace.format import NodeSeen
from stowage_testbed.trace.reading import Trace


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
    """Have a day pass once with each arm.

    Parameters
    ----------
    name
        The day's.
    proof_s
        Time for the proof at each window; with 0 nothing is proved.
    say
        Told of each arm that begins.

    Raises
    ------
    InputError
        The policy's windows make no sense.
    StowageError
        As `try_arm` says.
    """
    prove = Prover(policy, proof_s) if proof_s else lambda _: None
    figures = []
    for arm in arms:
        say(f"{name}, arm {arm.name}")
        trial = try_arm(arm, day, policy, settings, prove)
        figures.append(figures_of(trial, day, policy.cool_down_s))
    return Tried(
        policy=policy.name,
        day=name,
        hours=day.lines[-1].t / 3600 if day.lines else 0.0,
        nodes=len({one.name for one in day.lines if isinstance(one, NodeSeen)}),
        cool_down_s=policy.cool_down_s,
        arms=tuple(figures),
    )
