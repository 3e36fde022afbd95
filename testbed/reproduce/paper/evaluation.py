"""How the paper's evaluation is rebuilt."""

from __future__ import annotations

from testbed.reproduce.instance.rebuilding import Rebuilding
from testbed.reproduce.paper.judged import Judged
from testbed.reproduce.paper.regenerating import scenario_of
from testbed.reproduce.paper.request import PaperRequest
from testbed.reproduce.paper.rows import InstanceRow
from testbed.reproduce.paper.selecting import SelectTask

PAPER = Rebuilding(
    kind="paper",
    row_type=InstanceRow,
    request_of=PaperRequest.of_document,
    select=SelectTask,
    scenario_of=scenario_of,
    pair=Judged,
)
