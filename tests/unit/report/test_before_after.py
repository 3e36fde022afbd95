"""Before and after, on a terminal and as a page, say what the states say."""

from __future__ import annotations

import io
from pathlib import Path

from amounts import GPU
from outcomes import a_plan, an_outcome
from rich.console import Console

from stowage_testbed.report.before_after import draw_comparison, write_page
from stowage_testbed.run.outcome import ScenarioOutcome

HOSTILE = "</script><img src=x onerror=alert(1)>"

OUTCOME = an_outcome(
    nodes={"a": ["n1", "n1"], HOSTILE: [""]}, after={"a": ["n2", ""], HOSTILE: ["n1"]}, plans=(a_plan(),)
)


def shown(outcome: ScenarioOutcome = OUTCOME) -> str:
    text = io.StringIO()
    Console(width=160, file=text).print(draw_comparison(outcome))
    return text.getvalue()


def shares(said: str, name: str) -> list[str]:
    lines = [line.split() for line in said.splitlines()]
    (found,) = [line for line in lines if line[:1] == [name]]
    return [word for word in found if "%" in word]


def test_a_nodes_load_is_shown_before_and_after() -> None:
    """One pod came, one went: the number of those that wait says nothing of it.

    Nor does a core that is free say anything of the GPUs beside it.
    """
    said = shown()
    gpus = shown(an_outcome(nodes={"a": ["n2"]}, after={"a": ["n2", "n2"]}, gpus=4))
    # Pods of 100 milli-cores on nodes of 1,000.
    assert shares(said, "n1") == ["20.0%", "10.0%"]
    assert shares(said, "n2") == ["0.0%", "10.0%"]
    assert "pods with a node: 2 before, 2 after; waiting: 1 before, 1 after" in said
    assert "pods that were moved: 1" in said
    assert shares(gpus, GPU) == ["25.0%", "50.0%"]
    assert f"{GPU} 25.0% before, 50.0% after" in gpus


def test_names_stay_text_on_the_page(tmp_path: Path) -> None:
    """A workload's name comes from a cluster, not ours to trust."""
    text = write_page(OUTCOME, tmp_path).read_text(encoding="utf-8")

    assert "<img" not in text
    assert "&lt;/script&gt;&lt;img" in text
    assert "default-src &#39;none&#39;" in text
