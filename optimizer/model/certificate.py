"""Certificates: what is proved of one phase of one tier, and how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ProofMethod(Enum):
    """Why a limit is proved; the value is the contract's number."""

    UNSPECIFIED = 0
    TRIVIAL = 1
    KNAPSACK = 2
    MOVES_EXHAUSTED = 3
    DUAL_BOUND = 4
    ENUMERATION = 5
    CP_SAT = 6


class ProofStatus(Enum):
    """How far a limit goes; the value is the contract's number."""

    GAP = 0
    BOUND = 1
    PROVED = 2


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved of one phase of one tier."""

    status: ProofStatus = ProofStatus.GAP
    method: ProofMethod = ProofMethod.UNSPECIFIED
