"""The page in a real browser: the slider moves, and placements can be read."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import paper_results
import pytest
from amounts import GPU
from browsing import Page
from burst_runs import BurstArm, a_burst_run, burst_rounds
from comparisons import a_comparison, a_result
from outcomes import an_outcome
from paper_results import an_evaluation, an_instance
from selenium.webdriver.common.keys import Keys

from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.page import page
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.report.showing import write_page
from stowage_testbed.reproduce.paper.report import page as paper_page
from stowage_testbed.reproduce.rebuilding import Solved
from stowage_testbed.reproduce.sweep import Header

pytestmark = pytest.mark.browser

Open = Callable[[str], Page]

ARMS = (BurstArm("default"), BurstArm("stowage", service_s=0.006))
HOSTILE = "</script><img src=x onerror=\"window.hurt='img'\"><script>window.hurt=1</script>"


@pytest.fixture(scope="module")
def result() -> Comparison:
    return a_result(burst_rounds(1, ARMS, 3))


def pods_on(record: RunRecord, node: str, time_s: float) -> set[str]:
    """Return who stands there, by the record."""
    return {pod.name for pod in record.pods if pod.node == node and pod.bound_s is not None and pod.bound_s <= time_s}


def test_the_slider_moves_and_placements_are_read(open_page: Open, result: Comparison) -> None:
    """At every moment the page shows what the record says, by name.

    It works offline because there is nothing that it would ask for.
    """
    opened = open_page(page(result))
    assert opened.run("return performance.getEntriesByType('resource').length") == 0
    record = result.records[0]
    opened.choose_bar("default", 2)

    last = len(pods_on(record, "node-2", record.window_s))
    assert opened.bar_labels("default")[2] == f"node-2: {last} pods"
    assert "200 placed, 0 waiting" in opened.find('[data-arm="default"] h3').text

    opened.to_the_start()
    assert opened.time == "0 s"
    assert opened.bar_labels("default")[2] == "node-2: 0 pods"
    assert opened.listed_pods() == []

    opened.press("#time", *[Keys.ARROW_RIGHT] * 400)
    time_s = float(opened.run("return document.getElementById('time').value")) / 1000
    assert 0.3 < time_s < 0.5
    shown = {name for name, *_ in opened.listed_pods()}
    now = opened.time.split()
    now_s = float(now[0]) / (1000 if now[1] == "ms" else 1)
    assert pods_on(record, "node-2", now_s - 0.001) <= shown
    assert shown <= pods_on(record, "node-2", now_s + 0.001)
    assert 5 < len(shown) < last
    assert opened.errors() == []


def test_changes_can_be_stepped_through_and_played(open_page: Open, result: Comparison) -> None:
    """Each step is one thing that happened; playing can be stopped."""
    opened = open_page(page(result))
    opened.to_the_start()

    times = []
    for _ in range(4):
        opened.find("#later").click()
        times.append(opened.time)
    opened.find("#earlier").click()
    assert len(set(times)) == 4
    assert opened.time == times[2]

    for said in ("Pause", "Play"):
        opened.find("#play").click()
        assert opened.find("#play").text == said


def test_the_keyboard_alone_reaches_a_node_and_a_point_of_a_curve(open_page: Open, result: Comparison) -> None:
    """Not everybody has a pointer, and a curve is also numbers."""
    opened = open_page(page(result))
    first = opened.bars("stowage")[0]

    first.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    opened.driver.switch_to.active_element.send_keys(Keys.END)

    assert opened.find("#chosen").text.startswith("stowage, node-4, at")
    assert opened.bars("stowage")[4].get_attribute("aria-pressed") == "true"
    assert [bar.get_attribute("tabindex") for bar in opened.bars("stowage")] == [
        "-1", "-1", "-1", "-1", "0",
    ]  # fmt: skip
    opened.press("#latencies svg.curves", *[Keys.ARROW_RIGHT] * 5)
    readout = opened.find("#latencies .readout").text
    assert readout.startswith("at ")
    assert "default" in readout
    assert "stowage" in readout


def test_hostile_names_do_nothing_but_stand_there(open_page: Open) -> None:
    """The names come from a cluster, and the page may be opened anywhere."""
    record = burst_rounds(1, ARMS[:1], 1)[0]
    pods = tuple(
        replace(pod, name=f"{HOSTILE}{number}", workload=HOSTILE, node=HOSTILE)
        for number, pod in enumerate(record.pods)
    )
    nodes = (replace(record.nodes[0], name=HOSTILE),)
    hostile = replace(record, arm=HOSTILE, pods=pods, nodes=nodes, clock=HOSTILE)
    failed = replace(hostile, round_number=2, error=HOSTILE)
    comparison = replace(a_comparison((HOSTILE,)), environment={HOSTILE: HOSTILE})
    opened = open_page(page(a_result([hostile, failed], comparison)))

    opened.all(".bar .area")[0].click()

    assert opened.listed_pods()[0][:2] == [f"{HOSTILE}0", HOSTILE]
    assert opened.run("return window.hurt") is None
    assert opened.all("img") == []
    assert opened.errors() == []


def test_a_thousand_nodes_are_grouped_and_each_can_be_read(open_page: Open) -> None:
    """Bars of one pixel show nothing; a group says what it holds and how it varies."""
    rng = np.random.default_rng(1)
    arm = BurstArm(service_s=0.0005)
    record = a_burst_run(rng, arm, nodes=1000, pods=5000, workloads=[f"w{n}" for n in range(12)])
    opened = open_page(page(a_result([record])))

    assert 40 <= len(opened.bars("default")) <= 60
    opened.choose_bar("default", 0)
    parts = opened.all("#node details")
    assert len(parts) == 17
    assert opened.listed_pods() == []
    names = {name for name, *_ in opened.opened_pods(parts[3])}
    assert names == pods_on(record, "node-3", record.window_s)
    assert opened.errors() == []


def test_what_is_shown_can_be_chosen(open_page: Open) -> None:
    """Round, limits, height and colour; the table opens with what it has to say."""
    records = [*burst_rounds(1, ARMS, 2), *burst_rounds(2, ARMS, 2, limits="equal")]
    opened = open_page(page(a_result(records)))

    rows = opened.all("table.verdicts tbody tr")
    before = sum(row.is_displayed() for row in rows)
    opened.find("#all-metrics").click()
    assert before < sum(row.is_displayed() for row in rows) == len(rows)

    opened.choose("limits", "equal")
    opened.choose("round", "round 2")
    opened.choose("resource", "CPU requested")
    opened.choose("colour", "priority")
    opened.choose("load", "pods without a node")
    opened.choose("latency-kind", "T_ready: created to ready")
    opened.find("#log").click()

    shown = next(r for r in records if r.limits == "equal" and r.round_number == 2)
    count = len(pods_on(shown, "node-0", shown.window_s))
    share = f"{count * 10 / 4000 * 100:.3g}"
    assert opened.bar_labels("default")[0] == f"node-0: {count} pods, cpu {share} %"
    assert [item.text for item in opened.all("#keys li")] == ["0"]
    assert opened.errors() == []


def test_before_and_after_stand_side_by_side(open_page: Open, tmp_path: Path) -> None:
    """The page of `stowage try`: both states, node for node, and their pods.

    Whoever packs GPUs looks at GPUs; a node without any has none to name.
    """
    outcome = an_outcome(nodes={"a": ["n2"], "b": [""]}, after={"a": ["n2"], "b": ["n2"]}, gpus=4)
    opened = open_page(write_page(outcome, tmp_path).read_text(encoding="utf-8"))

    assert opened.bar_labels("before") == ["n1: 0 pods, cpu 0 %", "n2: 1 pod, cpu 10 %"]
    for resource, share in (("memory", 100), (GPU, 50), ("CPU", 20)):
        opened.choose("resource", f"{resource} requested")
        named = resource.replace("CPU", "cpu")
        assert opened.bar_labels("after") == [f"n1: 0 pods, {named} 0 %", f"n2: 2 pods, {named} {share} %"]
    opened.choose_bar("after", 1)
    assert [cells[1:] for cells in opened.listed_pods()] == [["a", "0"], ["b", "0"]]
    assert f"memory 100 %, {GPU} 50 %" in opened.find("#node summary").text
    opened.choose_bar("after", 0)
    assert GPU not in opened.find("#node summary").text
    assert opened.errors() == []


def test_a_comparison_shows_any_resource_over_time(open_page: Open) -> None:
    """As bars at a moment, and as a curve."""
    record = a_burst_run(np.random.default_rng(1), ARMS[0], gpus=1)
    opened = open_page(page(a_result([record])))

    opened.choose("resource", f"{GPU} requested")
    opened.choose("load", f"{GPU} requested, share of all nodes")

    count = len(pods_on(record, "node-0", record.window_s))
    share = f"{count / 80 * 100:.3g}"
    assert opened.bar_labels("default")[0] == f"node-0: {count} pods, {GPU} {share} %"
    assert opened.errors() == []


LINES_OF_SHARES = """
const shares = [...document.querySelectorAll("#headline td")]
  .filter((cell) => cell.textContent.includes("%"));
return shares.map((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map((line) => line.top)).size;
});
"""
"""On how many lines each share stands."""


@pytest.fixture
def papers_page() -> str:
    one = Solved(an_instance(), paper_results.a_result((0, 1, 2)))
    header = Header("paper", {}, {}, ())
    return paper_page(an_evaluation(one), (), header)


def test_a_share_stands_on_one_line_on_a_narrow_page(open_page: Open, papers_page: str) -> None:
    """A percent sign below its number reads as a cell of the next row."""
    opened = open_page(papers_page)
    opened.driver.set_window_size(500, 900)

    lines = opened.driver.execute_script(LINES_OF_SHARES)

    assert lines != []
    assert set(lines) == {1}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_wrong(
    open_page: Open, result: Comparison, papers_page: str, tmp_path: Path, dark: bool
) -> None:
    """Not everybody reads with a pair of eyes and a pointer."""
    outcome = an_outcome(nodes={"a": ["n1", ""]}, after={"a": ["n1", "n2"]})
    before_after = write_page(outcome, tmp_path).read_text(encoding="utf-8")

    for text in (page(result), before_after, papers_page):
        opened = open_page(text)
        opened.in_the_dark(dark=dark)
        for bar in opened.all(".bar .area")[:1]:
            bar.click()
        assert opened.violations() == []
