"""Every kind of step that a file may have can be carried out."""

from __future__ import annotations

import inspect

import pytest

from stowage_testbed.run.steps.execution import effect_of
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.kinds import ACTIONS


@pytest.mark.parametrize("kind", ACTIONS.values(), ids=lambda kind: kind.kind)
def test_every_kind_of_step_has_its_effect(kind: type[Action]) -> None:
    """It is found by its name, which nothing else would check before a run."""
    effect = effect_of(kind)

    of = inspect.signature(effect).parameters["step"].annotation
    assert of == kind.__name__
