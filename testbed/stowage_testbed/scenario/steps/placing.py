"""The step that puts pods where they are to be, past the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.steps.action import Action, Deadline, NameUsed, join_names, show_count
from stowage_testbed.scenario.steps.demand import Demand


def _list_nodes(plain: Sequence[str] | Mapping[str, int]) -> tuple[str, ...]:
    """Return a node for each pod; of those that are counted in the order of names."""
    if isinstance(plain, Mapping):
        return tuple(node for node, count in plain.items() for _ in range(count))
    return tuple(plain)


NodesOfPods = Annotated[
    tuple[str, ...],
    form(
        name="nodes-of-pods",
        written=Annotated[Mapping[str, Annotated[int, form(minimum=1)]], form(minProperties=1)]
        | Annotated[tuple[str, ...], form(minItems=1)],
        parse=_list_nodes,
        description="How many pods each node has, or a node for each pod in the order "
        'of the pods\' names, "" for none.',
    ),
]


@dataclass(frozen=True, slots=True)
class Place(Action):
    """Create workloads and bind pods of them to nodes, past the scheduler.

    All nodes are closed for new pods meanwhile. Pods that get no node here are for the
    scheduler afterwards.
    """

    kind = "place"
    bare = True
    deadline = Deadline("For the pods of placed workloads to be there.", "settle")
    nodes: Annotated[
        Mapping[str, NodesOfPods],
        form(minProperties=1),
        setting("The nodes of each workload's pods, by the workload's name."),
    ]

    @classmethod
    def references(cls, plain: Any) -> Iterator[NameUsed]:
        for name, nodes in plain.items():
            yield NameUsed((name,), name, "applied")
            for at, node in enumerate(nodes):
                inner = node if isinstance(nodes, Mapping) else at
                if node:
                    yield NameUsed((name, inner), node, "node")

    def in_words(self) -> str:
        pods = sum(1 for nodes in self.nodes.values() for node in nodes if node)
        names = join_names(tuple(self.nodes))
        return f"create {names}, and bind {show_count(pods, 'pod')} past the scheduler"

    def ask(self, demand: Demand) -> None:
        demand.apply(self.nodes)

    @property
    def brings(self) -> tuple[str, ...]:
        return tuple(self.nodes)
