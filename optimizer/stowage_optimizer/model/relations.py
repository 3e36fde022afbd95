"""What pods demand of the pods in a domain, in numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass

NO_DOMAIN = -1
"""Domain of a node that lacks the label."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A count of pods by domain.

    Parameters
    ----------
    domain_of
        Domain of each node or ``NO_DOMAIN``, numbered from 0.
    counted
        Indices of the nodes whose pods count; None means all.
    living
        Terminating pods do not count.
    """

    domain_of: tuple[int, ...]
    counted: frozenset[int] | None = None
    living: bool = False

    @property
    def domains(self) -> int:
        """The number of domains."""
        return max(self.domain_of, default=NO_DOMAIN) + 1


@dataclass(frozen=True, slots=True)
class Affinity:
    """Required affinity: each tally must count a pod in the pod's domain.

    ``matches_itself`` lets the pod come anywhere in its topology while no pod
    is counted: it is the first of a group with affinity to itself.
    """

    tallies: tuple[int, ...]
    matches_itself: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """A limit on the skew of one tally.

    ``self_match`` is 1 if the pod that comes counts too, else 0. ``domains`` are those
    whose smallest count is compared.
    """

    tally: int
    domains: tuple[int, ...]
    max_skew: int
    min_domains: int
    self_match: int


@dataclass(frozen=True, slots=True)
class Rules:
    """What pods of one class demand when they come; ``anti_affinity`` holds tallies."""

    anti_affinity: tuple[int, ...] = ()
    affinity: Affinity | None = None
    spread: tuple[Spread, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether nothing is demanded."""
        return not (self.anti_affinity or self.affinity or self.spread)


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations between the pods of a packing.

    Parameters
    ----------
    counting
        The tallies in which pods of a class count, by class id.
    rules
        By class id; classes that demand nothing are left out.
    staying
        Class id, node and whether it is terminating, of each pod that is no item.
    """

    tallies: tuple[Tally, ...]
    counting: Mapping[str, tuple[int, ...]]
    rules: Mapping[str, Rules]
    class_of: tuple[str, ...]
    staying: tuple[tuple[str, int, bool], ...]
