"""Steps that change the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stowage_testbed.amounts.resources import PODS
from stowage_testbed.cluster.node_pool import Effect, NodePool
from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.steps.action import Action, Deadline, Names, join_names, show_count

Nodes = Annotated[Names, setting("Which nodes.", names="node")]
Node = Annotated[NodePool, form(name="node")]


def pool_in_words(pool: NodePool) -> str:
    """Return a kind of nodes as a person would say it."""
    names = pool.node_names()
    which = names[0] if pool.count == 1 else f"{names[0]} to {names[-1]}"
    text = (
        f"{show_count(pool.count, 'node')} ({which}) with {pool.resources.without(PODS)}, {pool.resources[PODS]} pods"
    )
    if pool.zones:
        text += f", in turn in zones {', '.join(pool.zones)}"
    for key, value in pool.labels.items():
        text += f", labelled {key}={value}"
    for taint in pool.taints:
        text += f", tainted {taint.key}={taint.value}:{taint.effect}"
    return text


@dataclass(frozen=True, slots=True)
class Cordon(Action):
    """Close nodes for new pods."""

    kind = "cordon"
    bare = True
    nodes: Nodes

    def in_words(self) -> str:
        return f"close {join_names(self.nodes)} for new pods"


@dataclass(frozen=True, slots=True)
class Uncordon(Action):
    """Open nodes again."""

    kind = "uncordon"
    bare = True
    nodes: Nodes

    def in_words(self) -> str:
        return f"open {join_names(self.nodes)} for new pods again"


@dataclass(frozen=True, slots=True)
class TaintNodes(Action):
    """Give nodes a taint."""

    kind = "taint"
    nodes: Nodes
    key: Annotated[str, setting("The taint's key.", minLength=1)]
    effect: Annotated[Effect, setting("What happens to pods that do not tolerate it.")]
    value: Annotated[str, setting("The taint's value.")] = ""

    def in_words(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"taint {join_names(self.nodes)} with {self.key}{value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class UntaintNodes(Action):
    """Take taints from nodes."""

    kind = "untaint"
    nodes: Nodes
    key: Annotated[str, setting("The taints' key.", minLength=1)]
    effect: Annotated[Effect | None, setting("Only those of this effect; without it all.")] = None

    def in_words(self) -> str:
        effect = f":{self.effect}" if self.effect else ", whatever its effect,"
        return f"take the taint {self.key}{effect} from {join_names(self.nodes)}"


@dataclass(frozen=True, slots=True)
class AddNodes(Action):
    """Add nodes of one kind, and wait until they are ready."""

    kind = "add-nodes"
    bare = True
    deadline = Deadline("For new nodes to be ready.", "nodes")
    pool: Annotated[Node, setting("Which.")]

    def in_words(self) -> str:
        return f"add {pool_in_words(self.pool)}, and wait until they are ready"

    @property
    def changed_nodes(self) -> int:
        return self.pool.count


@dataclass(frozen=True, slots=True)
class RemoveNodes(Action):
    """Remove nodes with their pods, and wait until they are gone."""

    kind = "remove-nodes"
    bare = True
    deadline = Deadline("For nodes and their pods to be gone.", "nodes")
    nodes: Nodes

    def in_words(self) -> str:
        names = join_names(self.nodes)
        return f"remove {names} with their pods, and wait until all are gone"

    @property
    def changed_nodes(self) -> int:
        return len(self.nodes)
