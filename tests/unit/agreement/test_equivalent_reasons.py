"""Which refusals of the two verifiers are equivalent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from benchmarks.agreement.comparison import (
    CLAIM_RULES,
    NAME_RULES,
    PLUGINS,
    REASONS,
    equivalent,
)
from stowage_optimizer.verify.violation import RuleName, Violation
from stowage_testbed.simulate import PlanJudgement

REFUSALS = Path(__file__).parents[3] / "scheduler" / "plan" / "plan.go"
NEVER_SEEN = {"too-large", "node-changed"}
"""Random plans are small, and a cluster that is verified does not change."""

OF_REQUESTS = {"snapshot", "limits", "certificate"}
"""Rules about what no question has."""


def test_every_reason_of_the_scheduler_has_its_rules() -> None:
    """A new reason must be compared with something."""
    reasons = set(re.findall(r'Reason = "([a-z-]+)"', REFUSALS.read_text("utf-8")))

    assert reasons == set(REASONS) | NEVER_SEEN


def test_every_rule_of_the_checker_says_something_that_the_scheduler_says() -> None:
    """Or it is about what the scheduler does not read."""
    covered = set().union(*REASONS.values(), *PLUGINS.values())

    assert covered == set(get_args(RuleName)) - CLAIM_RULES - OF_REQUESTS
    assert covered >= NAME_RULES


@pytest.mark.parametrize(
    ("refusal", "rules", "same"),
    [
        (PlanJudgement(False, "over-capacity"), {"capacity", "worth"}, True),
        (PlanJudgement(False, "over-capacity"), {"worth"}, False),
        (PlanJudgement(False, "over-capacity"), {"unknown-pod"}, True),
        (PlanJudgement(False, "rehearsal", ("NodePorts",)), {"host-ports"}, True),
        (PlanJudgement(False, "rehearsal", ("NodePorts",)), {"eligibility"}, False),
        (
            PlanJudgement(False, "rehearsal", ("Custom", "NodePorts")),
            {"host-ports"},
            True,
        ),
        (PlanJudgement(False, "rehearsal", ("Custom",)), {"host-ports"}, False),
        (
            PlanJudgement(False, "rehearsal", ("Custom",), ("pod",)),
            {"host-ports"},
            True,
        ),
        (
            PlanJudgement(False, "rehearsal", ("Custom",), ("other",)),
            {"host-ports"},
            False,
        ),
        (
            PlanJudgement(False, "rehearsal", ("Custom",), ("pod",)),
            {"immovable"},
            False,
        ),
        (PlanJudgement(False, "stale"), {"capacity"}, False),
    ],
)
def test_reasons_are_equivalent_if_one_of_the_rules_says_the_same(
    refusal: PlanJudgement, rules: set[RuleName], *, same: bool
) -> None:
    """Two refusals for different reasons are two mistakes, not an agreement."""
    violations = [Violation(rule, "pod", "") for rule in rules]

    assert equivalent(refusal, violations) == same
