"""Both verifiers of a plan say the same, and it would be noticed if they did not."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest

from stowage_optimizer.verify import checker
from stowage_optimizer.verify.checker import NAMES, RULES, Rule
from stowage_optimizer.verify.violation import RuleName
from tests.differential.comparison import CLAIM_RULES, PLUGINS, REASONS, Verifiers, running_verifiers

SEED = 5
PLANS = 200
JUDGED = int(os.environ.get("JUDGED_PLANS", PLANS))
"""At night they are ten thousand."""

SEARCHED = 2000

NOT_HELD_AGAINST = {"check_limits", "check_devices", "check_gangs"}
"""The questions ask for no limits and have no gangs, and no pod asks for devices: of those see `test_device_order`."""

OF_CLAIMS = {"check_tiers", "check_bounds", "check_gains", "check_nodes_in_use"}

JUDGED_BY_BOTH = [rule for rule in (*NAMES, *RULES) if rule.__name__ not in NOT_HELD_AGAINST | OF_CLAIMS]


@pytest.fixture(scope="module")
def verifiers() -> Iterator[Verifiers]:
    with running_verifiers() as running:
        yield running


def test_both_say_the_same_to_random_plans(verifiers: Verifiers) -> None:
    """What one lets through and the other does not is a mistake of one of them."""
    found = verifiers.compare_random_plans(SEED, JUDGED)

    assert found.unexplained == []
    refused, explained = found.refused.total(), found.explained.total()
    assert found.accepted + refused + explained == JUDGED
    # Neither says the same to everything.
    assert min(found.accepted, refused) > JUDGED // 8


def _missed(verifiers: Verifiers) -> bool:
    """Tell whether some plan is verified differently; names that lead nowhere count."""
    with suppress(KeyError):
        # Other rules cannot look where names are not what they seem.
        return any(verifiers.compare_random_plans(seed, PLANS).unexplained for seed in range(SEARCHED // PLANS))
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


REFUSALS = Path(__file__).parents[2] / "scheduler" / "plan" / "plan.go"
NEVER_SEEN = {"too-large", "node-changed", "mixed-units"}
"""Random plans are small and name no units, and a cluster that is verified does not change."""

OF_REQUESTS = {"snapshot", "limits", "certificate"}
"""Rules about what no question has."""


def test_every_reason_has_its_rules_and_every_rule_its_reasons() -> None:
    """A new one must be compared with something, or not be read by the scheduler."""
    reasons = set(re.findall(r'Reason = "([a-z-]+)"', REFUSALS.read_text("utf-8")))
    covered = set().union(*REASONS.values(), *PLUGINS.values())

    assert reasons == set(REASONS) | NEVER_SEEN
    assert covered == set(get_args(RuleName)) - CLAIM_RULES - OF_REQUESTS
    assert {rule.__name__ for rule in RULES} >= OF_CLAIMS | NOT_HELD_AGAINST
