"""The page as a file: whole, closed, and safe; tests/e2e/report uses it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_comparison, a_result

from stowage_testbed.compare.html.data import placements
from stowage_testbed.compare.html.page import WIDTH, forest, page
from stowage_testbed.compare.result import Result

ARMS = (BurstArm("default"), BurstArm("stowage", service_s=0.002))
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(scope="module")
def result() -> Result:
    return a_result(burst_rounds(1, ARMS, 3))


class Parts(HTMLParser):
    """Every element with its attributes, and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements[-1:] and self.elements[-1][0] in {"script", "style"}:
            self.texts.append((self.elements[-1][0], data))


def data_of(text: str) -> dict[str, Any]:
    pattern = r'<script type="application/json" id="data">(.*?)</script>'
    (found,) = re.findall(pattern, text)
    document: dict[str, Any] = json.loads(found)
    return document


def test_a_page_refers_to_nothing_outside(result: Result) -> None:
    """It is read in trains, in ten years, and from an archive."""
    parts = Parts(page(result))

    for tag, attributes in parts.elements:
        assert tag not in {"link", "iframe", "object", "embed", "img", "base"}
        assert not attributes.keys() & {"src", "srcset", "data", "action"}
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in page(result)
    assert "@import" not in page(result)


def test_only_the_pages_own_script_and_style_may_run(result: Result) -> None:
    """The policy names them by hash; a change of a letter would silence them."""
    text = page(result)
    (said,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = unescape(said)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)

    for content in (style, script):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in Parts(text).elements)


def test_hostile_names_stay_text(result: Result) -> None:
    """Names of pods, nodes, workloads and arms come from anywhere."""
    record = result.records[0]
    pods = tuple(
        replace(pod, name=HOSTILE, workload=HOSTILE, node=HOSTILE)
        for pod in record.pods
    )
    nodes = tuple(replace(node, name=HOSTILE) for node in record.nodes[:1])
    hostile = replace(record, arm=HOSTILE, pods=pods, nodes=nodes, clock=HOSTILE)
    failed = replace(hostile, round_number=2, error=HOSTILE)
    comparison = replace(a_comparison((HOSTILE,)), environment={HOSTILE: HOSTILE})

    text = page(a_result([hostile, failed], comparison))

    assert [tag for tag, _ in Parts(text).elements].count("script") == 2
    assert "<img" not in text
    assert data_of(text)["runs"][0]["names"][0] == HOSTILE


def test_a_page_holds_who_stood_where_and_when(result: Result) -> None:
    """Without it the slider has nothing to show."""
    run = data_of(page(result))["runs"][0]
    record = result.records[0]

    by_name = {pod.name: pod for pod in record.pods}
    assert len(run["names"]) == len(record.pods)
    for name, node, start in zip(run["names"], run["node"], run["starts"], strict=True):
        assert record.nodes[node].name == by_name[name].node
        assert start == pytest.approx(by_name[name].bound_s, abs=1e-4)


def test_large_comparisons_show_whole_rounds_and_count_the_rest(result: Result) -> None:
    """Arms of one round are looked at side by side, or not at all."""
    found = placements(result, most_pods=700)

    assert [(run["round"], run["arm"]) for run in found.runs] == [(1, 0), (1, 1)]
    assert found.left_out == 4
    assert len(placements(result, most_pods=1).runs) == 2


def test_failed_runs_have_no_placements(result: Result) -> None:
    """Half of a burst is not shown as if it were one."""
    first, *others = result.records
    broken = a_result([replace(first, error="ended"), *others])

    found = placements(broken)

    assert (0, 1) not in {(run["arm"], run["round"]) for run in found.runs}
    assert found.left_out == 0


def test_an_interval_is_drawn_between_half_and_twice(result: Result) -> None:
    """What goes beyond the picture is marked, not hidden."""
    verdict = result.verdicts[0].verdicts[0]

    drawn = forest(
        replace(verdict, scale="ratio", low=0.1, estimate=1.0, high=2.0**0.5)
    )

    assert drawn is not None
    assert (drawn.low, drawn.cut_low) == (0.0, True)
    assert (drawn.estimate, drawn.high) == (WIDTH / 2, WIDTH * 0.75)
    assert not drawn.cut_high
    assert forest(replace(verdict, scale="difference")) is None


def test_a_page_of_an_interrupted_comparison_says_so(result: Result) -> None:
    """Nobody should take half of the rounds for all of them."""
    assert "did not come to its end" in page(replace(result, complete=False))
    assert "did not come to its end" not in page(result)
