"""Every rule of the checker is broken once by itself, and none can be missed."""

from __future__ import annotations

from typing import get_args

import pytest
from broken_plans import MUTATIONS, Mutation, PlanContext

from stowage_optimizer.verify import checker
from stowage_optimizer.verify.checker import NAMES, RULES, Rule
from stowage_optimizer.verify.violation import RuleName

EVERY = [(one, rule) for rule, many in MUTATIONS.items() for one in many]


def test_a_good_plan_breaks_no_rule() -> None:
    """The mutants below start from something that passes."""
    assert PlanContext().rules_broken() == set()


def test_every_rule_that_exists_is_broken_by_some_mutant() -> None:
    """The type checker holds all names to this list, so that it cannot go stale."""
    assert set(MUTATIONS) == set(get_args(RuleName)) - {"certificate"}
    assert all(MUTATIONS.values())


@pytest.mark.parametrize(
    ("mutate", "rule"), EVERY, ids=[one.__name__[1:] for one, _ in EVERY]
)
def test_each_mutant_is_caught_by_its_rule_alone(mutate: Mutation, rule: str) -> None:
    """A rule that never fires is no rule, nor is one that others must cover (R12)."""
    context = PlanContext()

    mutate(context)

    assert context.rules_broken() == {rule}


@pytest.mark.parametrize("left_out", [*NAMES, *RULES], ids=lambda rule: rule.__name__)
def test_without_any_one_rule_some_mutant_passes(
    left_out: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So every rule is in the list that is gone through, and does something."""
    for name, rules in (("NAMES", NAMES), ("RULES", RULES)):
        kept = tuple(rule for rule in rules if rule is not left_out)
        monkeypatch.setattr(checker, name, kept)

    assert any(_passes(mutate) for mutate, _ in EVERY)


def _passes(mutate: Mutation) -> bool:
    context = PlanContext()
    mutate(context)
    return not context.rules_broken()
