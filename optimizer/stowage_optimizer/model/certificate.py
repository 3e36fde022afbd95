"""Certificates: what is proved of one phase of one tier, and how."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class ProofMethod(Enum):
    """Why a bound is proved; the value is the contract's number."""

    UNSPECIFIED = 0
    TRIVIAL = 1
    KNAPSACK = 2
    MOVES_EXHAUSTED = 3
    DUAL_BOUND = 4
    ENUMERATION = 5
    CP_SAT = 6


class ProofStatus(Enum):
    """How far a bound goes; the value is the contract's number."""

    GAP = 0
    BOUND = 1
    PROVED = 2


@dataclass(frozen=True, slots=True)
class PodPrice:
    """Prices of a group of equal pods; see the contract."""

    pod_uids: tuple[str, ...]
    pod: int
    run: int


@dataclass(frozen=True, slots=True)
class RequirementPrice:
    """Price of holding on to what was reached before.

    Parameters
    ----------
    priority
        Of the tier.
    phase
        The contract's number: 0 keep, 1 place, 2 disrupt.
    price
        Never negative.
    """

    priority: int
    phase: int
    price: int


@dataclass(frozen=True, slots=True)
class DeviceWeights:
    """Weight of a device of each request, by its id; see the contract."""

    weights: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DualBound:
    """Prices that prove a bound, in parts of ``scale``; see the contract."""

    scale: int
    pods: tuple[PodPrice, ...]
    requirements: tuple[RequirementPrice, ...]
    device_weights: tuple[DeviceWeights, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved of one phase of one tier.

    Parameters
    ----------
    dual_bound
        What proves it, where ``method`` is `DUAL_BOUND`; it can be checked without the
        solver.
    """

    status: ProofStatus = ProofStatus.GAP
    method: ProofMethod = ProofMethod.UNSPECIFIED
    dual_bound: DualBound | None = None


NOTHING_PROVED = Certificate()
"""Where nothing is reported about how a bound is proved."""
