"""The page as a file: whole, closed, safe, and its lines; tests/e2e/report uses it."""

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from burst_runs import BurstArm, burst_rounds
from comparisons import a_result
from hpa_records import FULL, hpa_record
from run_records import GB, a_node, a_record, pod_on

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.page import (
    RECOVERY_LOADS,
    WIDTH,
    forest,
    latency_lines,
    list_placements,
    load_lines,
    loads_of,
    page,
    thin,
)
from stowage_testbed.hpa.settings import Find

ARMS = (BurstArm("default"), BurstArm("stowage", service_s=0.002))


@pytest.fixture(scope="module")
def result() -> Comparison:
    return a_result(burst_rounds(1, ARMS, 3))


class Parts(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_only_the_pages_own_script_and_style_may_run(result: Comparison) -> None:
    """The policy names them by hash; a change of a letter would silence them."""
    text = page(result)
    (said,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    policy = unescape(said)

    for tag in ("style", "script"):
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in Parts(text).found)


def test_large_comparisons_show_whole_rounds_and_count_the_rest(result: Comparison) -> None:
    """Arms of one round are looked at side by side; half of a burst is none at all."""
    found = list_placements(result, most_pods=700)
    first, *others = result.records
    failed = list_placements(a_result([replace(first, error="ended"), *others]))

    assert [(run["round"], run["arm"]) for run in found.runs] == [(1, 0), (1, 1)]
    assert found.left_out == 4
    assert len(list_placements(result, most_pods=1).runs) == 2
    assert (0, 1) not in {(run["arm"], run["round"]) for run in failed.runs}
    assert failed.left_out == 0


def test_an_interval_is_drawn_between_half_and_twice(result: Comparison) -> None:
    """What goes beyond the picture is marked, not hidden."""
    verdict = replace(result.verdicts[0].verdicts[0], scale="ratio")

    drawn = forest(replace(verdict, low=0.1, estimate=1.0, high=2.0**0.5))

    assert drawn is not None
    assert (drawn.low, drawn.cut_low) == (0.0, True)
    assert (drawn.estimate, drawn.high) == (WIDTH / 2, WIDTH * 0.75)
    assert not drawn.cut_high
    assert forest(replace(verdict, scale="difference")) is None


def test_a_page_of_an_interrupted_comparison_says_so(result: Comparison) -> None:
    """Nobody should take half of the rounds for all of them."""
    assert "did not come to its end" in page(replace(result, complete=False))
    assert "did not come to its end" not in page(result)


def test_lines_of_a_burst_are_its_latencies_and_loads() -> None:
    """Without those that never end, the scheduler that drops pods would look best."""
    nodes = [a_node("a", memory=5 * GB), a_node("b", memory=5 * GB)]
    pods = [pod_on("a", created=0.0, bound=1.0), pod_on("b", created=0.0, bound=3.0, gone=5.0), pod_on(created=0.0)]
    second = a_record([pod_on("a", created=0.0, bound=2.0)], nodes=nodes)
    both = [a_record(pods, nodes=nodes), replace(second, round_number=2)]
    result = a_result(both)

    together, alone, _ = latency_lines(result)["t_sched"]
    memory, waiting = (load_lines(result)[name][0] for name in ("memory", "waiting"))

    # All rounds are one sample.
    assert (together["round"], alone["round"]) == (0, 1)
    assert (together["x"], together["y"]) == ([1, 1, 2, 3], [0, 0.25, 0.5, 0.75])
    assert (alone["x"], alone["y"]) == ([1, 1, 3], [0, 0.33333, 0.66667])
    assert not latency_lines(result)["t_ready"][0]["x"]
    assert (memory["x"], memory["y"]) == ([0, 1, 3, 5, 10], [0, 0.1, 0.2, 0.1, 0.1])
    assert (waiting["x"], waiting["y"]) == ([0, 0, 1, 3, 10], [0, 3, 2, 1, 1])
    # The first point of a long line is where it begins, and the last where it ends.
    line = thin(range(1000), range(1000), most=7)
    assert (len(line.x), line.x[0], line.x[-1]) == (7, 0, 999)


def test_a_recovery_is_drawn_from_the_start_of_hold(result: Comparison) -> None:
    """FIND ends before the autoscaler has moved, HOLD sees it reach 7, 14, 20.

    An empty plot to choose, where there is no service, would look like a fault.
    """
    found = hpa_record(replace(FULL, find=Find(level_s=5.0)))
    window_s = found.hold[-1].end_s - found.hold_start_s
    record = a_record(window_s=window_s, recovery=found)

    ready = RECOVERY_LOADS["ready"].line_of(record)
    latency = RECOVERY_LOADS["p99"].line_of(record)

    assert (ready.x[-1], ready.y[-1]) == (record.window_s, found.pods[-1].ready)
    assert [x for x, y in zip(ready.x, ready.y, strict=True) if y == 7] == [10.0]
    assert latency.y[1:-1] == tuple(window.p99_s for window in found.hold)
    assert loads_of(result).keys() == {"cpu", "memory", "waiting"}
    assert loads_of(a_result([record])).keys() > RECOVERY_LOADS.keys()
