"""Both verifiers of a plan say the same, and it would be noticed if they did not."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import pytest

from stowage_optimizer.verify import checker
from stowage_optimizer.verify.checker import NAMES, RULES, Rule
from tests.differential.agreement import Verifiers, compare_random_plans
from tests.differential.comparison import CLAIM_RULES

SEED = 5
PLANS = 200
JUDGED = int(os.environ.get("JUDGED_PLANS", PLANS))
"""At night they are ten thousand."""

SEARCHED = 2000

NOT_HELD_AGAINST = {"check_limits"}
"""The questions ask for no limits."""

OF_CLAIMS = {"check_tiers", "check_bounds", "check_gains", "check_nodes_in_use"}

JUDGED_BY_BOTH = [
    rule
    for rule in (*NAMES, *RULES)
    if rule.__name__ not in NOT_HELD_AGAINST | OF_CLAIMS
]


def test_both_say_the_same_to_random_plans(verifiers: Verifiers) -> None:
    """What one lets through and the other does not is a mistake of one of them."""
    found = compare_random_plans(verifiers, SEED, JUDGED)

    assert found.examples == []
    assert found.unexplained == 0
    explained = found.explained.total()
    assert found.accepted + found.refused + explained == found.plans == JUDGED
    # Neither says the same to everything.
    valid = JUDGED - found.mutated
    assert min(found.accepted, found.refused, valid, found.mutated) > JUDGED // 8
    assert found.confusion.total() == found.refused
    # A disagreement that cannot be had again cannot be mended.
    again = compare_random_plans(verifiers, SEED, JUDGED).figures()
    assert again == found.figures() == json.loads(json.dumps(again))


def _missed(verifiers: Verifiers) -> bool:
    """Tell whether some plan is verified differently; names that lead nowhere count."""
    with suppress(KeyError):
        # Other rules cannot look where names are not what they seem.
        return any(
            compare_random_plans(verifiers, seed, PLANS).unexplained
            for seed in range(SEARCHED // PLANS)
        )
    return True


@pytest.mark.parametrize("left_out", JUDGED_BY_BOTH, ids=lambda rule: rule.__name__)
def test_a_rule_that_the_checker_forgets_is_missed(
    verifiers: Verifiers, left_out: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rule decides some plan; no explanation covers for it."""
    for name, rules in (("NAMES", NAMES), ("RULES", RULES)):
        kept = tuple(rule for rule in rules if rule is not left_out)
        monkeypatch.setattr(checker, name, kept)
    assert _missed(verifiers)


def test_claims_are_the_only_rules_that_the_scheduler_leaves_to_the_checker() -> None:
    """A new rule belongs to one of the two kinds."""
    assert {"tiers", "bounds", "gains", "nodes-in-use"} == CLAIM_RULES
    assert {rule.__name__ for rule in RULES} >= OF_CLAIMS | NOT_HELD_AGAINST
