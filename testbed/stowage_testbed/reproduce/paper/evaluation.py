"""How the paper's evaluation is rebuilt."""

from __future__ import annotations

from stowage_testbed.reproduce.instance.rebuilding import Rebuilding
from stowage_testbed.reproduce.paper.categorised import Categorised
from stowage_testbed.reproduce.paper.regenerating import scenario_of
from stowage_testbed.reproduce.paper.request import PaperRequest
from stowage_testbed.reproduce.paper.rows import InstanceRow
from stowage_testbed.reproduce.paper.selecting import SelectTask

PAPER = Rebuilding(
    kind="paper",
    row_type=InstanceRow,
    request_of=PaperRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=Categorised,
)
