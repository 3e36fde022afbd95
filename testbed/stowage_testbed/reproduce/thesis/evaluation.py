"""How the thesis's evaluation is rebuilt."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.reproduce.instance.evaluation import Evaluation, Solved
from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.thesis.regenerating import scenario_of
from stowage_testbed.reproduce.thesis.request import ThesisRequest
from stowage_testbed.reproduce.thesis.rows import ThesisRow
from stowage_testbed.reproduce.thesis.selecting import SelectTask


@dataclass(frozen=True, slots=True)
class ThesisSolved(Solved[ThesisRow]):
    """A result and its instance."""


ThesisEvaluation = Evaluation[ThesisSolved]
"""All results."""

THESIS = Rebuilding(
    kind="thesis",
    row_type=ThesisRow,
    request_of=ThesisRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=ThesisSolved,
)
