"""The live page in a real browser, fed by watches that the test scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from axe_core_python.selenium import Axe
from browsing import Page
from burst_runs import BurstArm, burst_rounds
from comparisons import a_result
from live_changes import ScriptedWatches, a_change, a_node, a_plan, a_pod
from outcomes import an_outcome
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.page.benchmark import await_picture, served_fleet
from benchmarks.page.fleet import FleetSize
from stowage_testbed.compare.html.page import page as comparison_page
from stowage_testbed.errors import StowageError
from stowage_testbed.live_page.feed import Feed
from stowage_testbed.live_page.page import page_of
from stowage_testbed.live_page.server import Content, serving
from stowage_testbed.report.before_after import write_page

pytestmark = pytest.mark.browser

SOON_S = 15.0
SAID = "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
HOSTILE = "</script><img src=x onerror=\"window.hurt='img'\"><b>"
MOVE = {"pod": "shop/web-1", "fromNode": "n1", "toNode": "n2", "state": "Waiting"}
PLAN = {
    "moves": [MOVE],
    "placements": [{"pod": "shop/db-1", "node": "n1"}],
    "tiers": [
        {
            "priority": 7,
            "placedBefore": 2,
            "placed": 3,
            "upperBound": 3,
            "optimal": True,
        }
    ],
    "protected": [
        {"reason": "singleton", "pods": 4, "example": "shop/one", "inTheWayOf": 2}
    ],
    "optimal": True,
}

CLUSTER = (
    a_change("Node", a_node("n1", zone="a")),
    a_change("Node", a_node("n2", zone="a")),
    a_change("Node", a_node("n3", zone="b", cordoned=True)),
    a_change("Pod", a_pod("web-1", node="n1", cpu="1")),
    a_change("Pod", a_pod("web-2", node="n2", cpu="1")),
    a_change("Pod", a_pod("db-1", workload="db", priority=7, cpu="3", said=SAID)),
)  # fmt: skip


class LivePage(Page):
    """An open live page, and the watches that feed it."""

    def __init__(
        self, driver: Chrome, watches: ScriptedWatches, sent: list[str]
    ) -> None:
        super().__init__(driver)
        self.watches = watches
        self.sent = sent
        self.refusal = ""

    def text(self, selector: str) -> str:
        return self.find(selector).text

    def wait_for(self, selector: str, part: str) -> None:
        """Wait until an element says something."""
        WebDriverWait(self.driver, SOON_S, ignored_exceptions=(Exception,)).until(
            lambda _: part in self.text(selector), f"{selector} never says {part!r}"
        )

    def picture(self) -> str:
        """Return what is on the canvas."""
        drawn: str = self.run(
            "return new Promise((done) => requestAnimationFrame(() => setTimeout(() =>"
            " done(document.getElementById('map').toDataURL()))))"
        )
        return drawn


def violations(driver: Chrome) -> list[tuple[str, str]]:
    """Return what axe finds, by rule and the first element."""
    found = Axe().run(driver)["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found]


Open = Callable[..., LivePage]


@pytest.fixture
def open_live(browser: Chrome) -> Iterator[Open]:
    with ExitStack() as stack:

        def opened(
            *changes: Any, changeable: bool = False, cluster: str = "c"
        ) -> LivePage:
            watches = ScriptedWatches(*(changes or CLUSTER))
            page = LivePage(browser, watches, [])

            def act(name: str, verb: str) -> None:
                if page.refusal:
                    raise StowageError(page.refusal)
                page.sent.append(f"{verb} {name}")

            verbs = {
                "approve": lambda name: act(name, "approve"),
                "abort": lambda name: act(name, "abort"),
            }
            feed = stack.enter_context(
                Feed(cluster, watches.opened, lambda: changeable)
            )
            content = Content(page_of(cluster), feed.messages, verbs)
            browser.get(stack.enter_context(serving(content)))
            await_picture(browser)
            page.errors()
            return page

        yield opened
        browser.get("about:blank")


@pytest.fixture
def prefer(browser: Chrome) -> Iterator[Callable[[str, str], None]]:
    """Set what the reader's system prefers."""

    def preferred(name: str, value: str) -> None:
        media = {"features": [{"name": f"prefers-{name}", "value": value}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    yield preferred
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_pods_arrive_as_the_watches_see_them(open_live: Open) -> None:
    """Without a reload, on the canvas and in words."""
    page = open_live()
    before = page.picture()
    assert page.text("#count-nodes") == "3"
    assert page.text("#count-waiting") == "1"

    page.watches.send(a_change("Pod", a_pod("web-3", node="n2"), "ADDED", 500))
    page.wait_for("#count-placed", "3")

    assert page.picture() != before
    assert page.errors() == []


def test_the_keyboard_alone_reaches_a_node_and_its_pods(open_live: Open) -> None:
    """What the canvas shows is said in words, and listed as a table."""
    page = open_live()

    page.press("#map", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.text("#chosen-node") == "n2, a: 1 pod, cpu 25 %, memory 12.5 %"
    assert page.find("#chosen-node").get_attribute("aria-live") == "polite"
    page.press("#map", Keys.END)
    assert page.text("#chosen-node") == "n3, b: 0 pods, cpu 0 %, memory 0 %, cordoned"
    page.press("#map", Keys.ARROW_LEFT)
    page.wait_for("#node h3", "n2")
    page.press("#map", Keys.ARROW_DOWN)
    assert page.text("#chosen-node").startswith("n3, b:")
    page.press("#map", Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.text("#chosen-node").startswith("n1, a:")
    page.press("#map", Keys.ARROW_RIGHT)
    page.wait_for("#node h3", "n2")

    assert page.listed_pods() == [["web-2", "web", "0"]]


def test_a_node_is_found_by_its_name(open_live: Open) -> None:
    """Nobody counts to the 3,217th."""
    page = open_live()

    page.press("#find", "n3", Keys.ENTER)
    page.wait_for("#chosen-node", "n3, b: 0 pods")
    page.find("#find").clear()
    page.press("#find", "n9", Keys.ENTER)

    page.wait_for("#chosen-node", "No node is called n9.")


def test_why_pods_wait_is_counted_over_pods(open_live: Open) -> None:
    """The scheduler's own words, each cause once."""
    page = open_live()
    page.watches.send(
        a_change(
            "Pod",
            a_pod(
                "db-2",
                workload="db",
                said="0/3 nodes are available: 3 Insufficient cpu.",
            ),
            "ADDED",
            5,
        ),
        a_change("Pod", a_pod("new"), "ADDED", 6),
    )
    page.wait_for("#count-waiting", "3")
    page.wait_for("#waiting", "no scheduler has tried the pod yet")

    rows: list[list[str]] = page.run(
        "return [...document.querySelectorAll('#waiting tbody tr')]"
        ".map((row) => [...row.cells].slice(0, 3).map((cell) => cell.innerText))"
    )
    assert rows == [
        ["Insufficient cpu", "2", "shop/db (2)"],
        ["no scheduler has tried the pod yet", "1", "shop/web (1)"],
        ["node(s) were unschedulable", "1", "shop/db (1)"],
    ]


def test_the_slider_goes_back_to_what_was_seen(open_live: Open) -> None:
    """And the page goes on from there when asked."""
    page = open_live()
    for number, at_ms in enumerate((1000, 2000, 3000)):
        page.watches.send(
            a_change("Pod", a_pod(f"q{number}", node="n1"), "ADDED", at_ms)
        )
    page.wait_for("#count-placed", "5")

    page.to_the_start()
    page.wait_for("#count-placed", "2")
    page.find("#later").click()
    page.wait_for("#count-placed", "3")
    page.watches.send(a_change("Pod", a_pod("late", node="n2"), "ADDED", 4000))
    page.find("#later").click()
    page.wait_for("#count-placed", "4")
    page.find("#earlier").click()
    page.wait_for("#count-placed", "3")
    page.find("#live").click()
    page.wait_for("#count-placed", "6")

    assert page.text("#now").endswith(", now")
    assert page.errors() == []


def test_a_proposal_shows_its_moves_bounds_and_what_was_protected(
    open_live: Open,
) -> None:
    """Before anybody approves it."""
    page = open_live()
    before = page.picture()

    page.watches.send(
        a_change("PackingPlan", a_plan("p1", "Proposed", **PLAN), "ADDED", 9)
    )
    page.wait_for("#plan", "p1: Proposed")

    text = page.text("#plan")
    assert "It places 1 waiting pod, moves 1 and evicts 0." in text
    assert "7 2 3 3 yes" in text
    assert "singleton 4 shop/one 2 waiting pods" in text
    assert "shop/web-1 move n1 n2 Waiting" in text
    assert "stowage plan approve p1" in text
    assert page.all("[data-verb]") == []
    drawn = page.picture()
    assert drawn != before
    page.find("#plans button").click()
    page.wait_for("#plan", "Choose a plan")
    assert page.picture() != drawn


def test_a_plan_is_approved_after_a_question(open_live: Open) -> None:
    """By the keyboard, too; and a refusal says why."""
    page = open_live(changeable=True)
    page.watches.send(
        a_change("PackingPlan", a_plan("p1", "Proposed", **PLAN), "ADDED", 9)
    )
    page.wait_for("#plan .controls", "Approve")

    page.press("[data-verb=approve]", Keys.ENTER)
    page.wait_for(
        "#ask-text", "1 running pod will be moved and 0 evicted, so that 1 waiting pod"
    )
    page.find("#ask-no").click()
    assert page.sent == []
    page.press("[data-verb=approve]", Keys.ENTER)
    page.find("#ask-yes").click()
    page.wait_for("#said", "p1 is approved.")
    page.refusal = "the API server refuses to change plan p1: Forbidden"
    page.press("[data-verb=abort]", Keys.ENTER)
    page.find("#ask-yes").click()
    page.wait_for("#said", "Forbidden")

    assert page.sent == ["approve p1"]


def test_a_plan_that_has_ended_stays_in_sight_without_its_arrows(
    open_live: Open,
) -> None:
    """Who has approved it wants to see what came of it."""
    page = open_live()
    before = page.picture()
    for at_ms, phase in ((9, "Proposed"), (10, "Completed")):
        plan = a_plan("p1", phase, **PLAN)
        page.watches.send(a_change("PackingPlan", plan, "MODIFIED", at_ms))
        page.wait_for("#plan", f"p1: {phase}")

    assert page.picture() == before
    assert "stowage plan" not in page.text("#plan")


def test_pods_are_coloured_by_what_is_chosen(open_live: Open) -> None:
    """With a legend, and in colours that can be chosen, too."""
    page = open_live()
    keys = {"workload": ["web", "db"], "priority": ["7", "0"], "namespace": ["shop"]}
    for colour, names in keys.items():
        page.choose("colour", colour)
        page.picture()
        assert [item.text for item in page.all("#keys li")] == names
    pictures = []
    for palette in ("standard", "colour-blind safe", "greys"):
        page.choose("palette", palette)
        pictures.append(page.picture())

    assert len(set(pictures)) == 3


@pytest.mark.parametrize(
    ("motion", "still"), [("no-preference", False), ("reduce", True)]
)
def test_playing_moves_no_more_than_the_reader_wants(
    open_live: Open, prefer: Callable[[str, str], None], motion: str, still: bool
) -> None:
    """Step by step, a second each, for those who want less motion."""
    prefer("reduced-motion", motion)
    page = open_live()
    page.watches.send(a_change("Pod", a_pod("q", node="n1"), "ADDED", 60_000))
    page.wait_for("#count-placed", "3")

    page.find("#play").click()
    assert page.text("#play") == "Pause"
    moments = page.driver.execute_async_script(
        "const [done, seen, begin] = [arguments[0], new Set(), performance.now()];"
        "const look = () => { seen.add(document.getElementById('time').value);"
        " if (performance.now() - begin < 700) requestAnimationFrame(look);"
        " else done(seen.size); };"
        "look();"
    )
    page.find("#play").click()

    assert page.text("#play") == "Play"
    assert (moments <= 2) is still


def test_the_page_is_dark_where_the_system_is(
    open_live: Open, prefer: Callable[[str, str], None]
) -> None:
    """And can be read."""
    prefer("color-scheme", "dark")
    page = open_live()
    assert (
        page.run("return getComputedStyle(document.body).backgroundColor")
        == "rgb(20, 23, 28)"
    )
    assert violations(page.driver) == []


def test_axe_finds_nothing_on_the_live_page(open_live: Open) -> None:
    """With all that can be on it."""
    page = open_live(changeable=True)
    page.watches.send(
        a_change("PackingPlan", a_plan("p1", "Proposed", **PLAN), "ADDED", 9)
    )
    page.wait_for("#plan .controls", "Approve")
    page.press("#map", Keys.ARROW_RIGHT)
    page.find("#zones summary").click()
    page.wait_for("#zone-table", "without pods")

    assert violations(page.driver) == []
    page.press("[data-verb=approve]", Keys.ENTER)
    assert violations(page.driver) == []
    page.find("#ask-no").click()


def test_axe_finds_nothing_on_the_other_pages(
    browser: Chrome, open_page: Callable[[str], Page], tmp_path: Path
) -> None:
    """They are made of the same parts."""
    arms = (BurstArm("default"), BurstArm("stowage", service_s=0.006))
    opened = open_page(comparison_page(a_result(burst_rounds(1, arms, 3))))
    opened.choose_bar("default", 2)
    assert violations(browser) == []

    outcome = an_outcome(
        nodes={"a": ["n1"], "b": [""]}, after={"a": ["n1"], "b": ["n1"]}
    )
    opened = open_page(write_page(outcome, tmp_path).read_text(encoding="utf-8"))
    opened.choose_bar("after", 0)
    assert violations(browser) == []


def test_nothing_is_asked_of_anybody_else(open_live: Open) -> None:
    """The stream is all that the page loads."""
    page = open_live()

    asked = page.run(
        "return performance.getEntriesByType('resource').map((one) => one.name)"
    )
    home = page.run("return location.href")
    assert all(address.startswith(home) for address in asked)
    assert page.errors() == []


def test_hostile_names_do_nothing_but_stand_there(open_live: Open) -> None:
    """Names come from a cluster, and messages from whatever runs there."""
    page = open_live(
        a_change("Node", a_node(HOSTILE, zone=HOSTILE)),
        a_change("Pod", a_pod(HOSTILE, node=HOSTILE, workload=HOSTILE)),
        a_change("Pod", a_pod("p", workload=HOSTILE, said=HOSTILE)),
        cluster=HOSTILE,
    )
    page.watches.send(
        a_change("PackingPlan", a_plan("p", "Proposed", message=HOSTILE), "ADDED", 1)
    )
    page.wait_for("#plan", HOSTILE)
    page.press("#map", Keys.ARROW_RIGHT)
    page.wait_for("#node h3", HOSTILE)

    assert page.text("h1") == HOSTILE
    assert page.run("return window.hurt") is None
    assert page.all("img, b") == []


def test_a_page_whose_server_has_ended_says_so(browser: Chrome) -> None:
    """A picture that stands still must not look like a cluster that does."""
    watches = ScriptedWatches(*CLUSTER)
    with (
        Feed("c", watches.opened, bool) as feed,
        serving(Content(page_of("c"), feed.messages, {})) as address,
    ):
        browser.get(address)
        await_picture(browser)
    page = LivePage(browser, watches, [])

    page.wait_for("#notice", "The stream has ended")
    browser.get("about:blank")
    # The browser's log is that of the next test, too.
    assert all("ERR_" in said for said in page.errors())


def test_a_large_cluster_is_a_heat_map_and_each_node_can_be_read(
    browser: Chrome,
) -> None:
    """5,000 nodes and 50,000 pods, a hundred changes a second."""
    with served_fleet(FleetSize(past=5000)) as address:
        browser.get(address)
        await_picture(browser)
        page = LivePage(browser, ScriptedWatches(), [])
        assert page.text("#count-nodes") == "5,000"
        first = page.picture()
        WebDriverWait(browser, SOON_S).until(lambda _: page.picture() != first)

        page.press("#find", "node-3217", Keys.ENTER)
        page.wait_for("#node h3", "node-3217")
        pods = int(page.text("#chosen-node").partition(": ")[2].split()[0])
        assert abs(len(page.listed_pods()) - pods) <= 2
        assert page.text("#keys").split("\n")[-1] == "no pod"
        assert "Insufficient cpu" in page.text("#waiting")
        page.choose("form", "bars")
        assert page.run(
            "const stage = document.getElementById('stage');"
            "return stage.scrollHeight > 2 * stage.clientHeight"
        )
        browser.get("about:blank")
