"""What goes wrong in a scenario, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.manifest_forms import Filled

FaultMoment = Literal[
    "unschedulable", "solving", "proposed", "executing", "evicted", "arrived"
]
"""When a fault begins: a pod was refused, a plan has come so far, pods left or came."""

FaultName = Literal[
    "change-owner", "churn", "compete", "create-budget", "create-odd-objects",
    "delete-node", "fill-etcd", "forge", "freeze-leader", "kill-optimizer",
    "kill-scheduler", "lie", "limit-pods", "make-unschedulable", "nothing",
    "refuse-writes", "restart-api-server", "shrink-budget", "shrink-node",
    "slow-api-server", "stop-optimizer", "taint-node",
]  # fmt: skip
"""What is done to the cluster: each a kind of `stowage_testbed.faults.kinds`."""

Span = Annotated[
    tuple[
        Annotated[float, form(minimum=0, maximum=600)],
        Annotated[float, form(minimum=0, maximum=600)],
    ],
    form(name="span"),
]
"""A range in seconds."""


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when; ``way`` is empty for a fault that has a single one."""

    do: Annotated[str, form(written=FaultName), setting("What is done to the cluster.")]
    at: Annotated[
        FaultMoment,
        setting(
            "The moment. unschedulable: a pod fits nowhere. solving, proposed, "
            "executing: a plan is in this phase. evicted, arrived: pods have left "
            "their nodes, or come to those of the plan."
        ),
    ]
    way: Annotated[
        Filled,
        setting(
            "Which of the ways in which it can be done; each fault has its own.",
            key="with",
        ),
    ] = ""
    count: Annotated[
        int,
        setting("How many pods have left or come, for evicted and arrived.", minimum=1),
    ] = 1
    after_s: Annotated[
        Span, setting("Seconds from the moment to the fault, drawn between these two.")
    ] = (0.0, 0.0)
    lasts_s: Annotated[
        Span, setting("Seconds from the fault to its end, drawn between these two.")
    ] = (0.0, 0.0)
    tries: Annotated[int, setting("How often it is tried.", minimum=1)] = 20
