"""All kinds of steps."""

from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn, Delete
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.changing import Evict, Patch, Scale, Usage
from stowage_testbed.scenario.steps.checking import Check, Checkpoint
from stowage_testbed.scenario.steps.interrupting import Interrupt
from stowage_testbed.scenario.steps.nodes import (
    AddNodes,
    Cordon,
    Drain,
    RemoveNodes,
    TaintNodes,
    Uncordon,
    UntaintNodes,
)
from stowage_testbed.scenario.steps.overloading import Measure, Overload
from stowage_testbed.scenario.steps.placing import Place
from stowage_testbed.scenario.steps.releasing import AskForPlan, Pack, Release
from stowage_testbed.scenario.steps.replaying import Replay
from stowage_testbed.scenario.steps.waiting import Wait

_KINDS: tuple[type[Action], ...] = (
    *(Apply, ApplyInTurn, Delete, Scale, Patch, Evict, Usage, AskForPlan, Place, Release, Pack),
    *(Cordon, Uncordon, Drain, TaintNodes, UntaintNodes, AddNodes, RemoveNodes, Interrupt),
    *(Burst, Replay, Wait, Check, Checkpoint, Measure, Overload),
)

ACTIONS = {one.kind: one for one in _KINDS}
"""Each kind by its key in a file, in the order in which the schema lists them."""
