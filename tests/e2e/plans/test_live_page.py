"""The live page: what the scheduler does and what becomes of a plan, as it happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import figure_1_cluster
import pytest
from browsing import Page, headless_chromium
from release_environment import ReleaseEnvironment
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.live.history import may_change_plans
from stowage_testbed.live.server import Control, LiveServer, serving
from stowage_testbed.live.watching import LiveWatch

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

BEGUN = "return document.body.classList.contains('begun')"
LACKS = "return !document.getElementById(arguments[0]).textContent.includes(arguments[1])"
SAYS = "return document.getElementById(arguments[0]).textContent.includes(arguments[1])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with headless_chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@contextmanager
def watching(
    browser: Chrome, environment: ReleaseEnvironment, *, control: bool = False
) -> Iterator[tuple[LiveServer, Page]]:
    """Watch a cluster, and show its page."""
    with environment.cluster.api_client() as api:
        watch = LiveWatch(api)
        plans = PlanApi(api)
        buttons = Control({"approve": plans.approve, "abort": plans.abort}, lambda: may_change_plans(api))
        server = LiveServer(watch, "figure 1", buttons if control else None)
        watch.begin()
        try:
            with serving(server) as address:
                yield server, opened(browser, address)
                # It would go on to ask the server that ends now.
                browser.get("about:blank")
        finally:
            watch.stop()


def opened(browser: Chrome, address: str) -> Page:
    browser.get(address)
    page = Page(browser)
    page.until("the first picture", BEGUN)
    return page


def ask_for_plan(environment: ReleaseEnvironment, name: str, objective: str = "Place") -> Any:
    """Return a plan that moves nothing before somebody approves it."""
    spec = {"executionMode": "DryRun", "objective": objective}
    manifest = make_manifest("stowage.dev/v1alpha1", "PackingPlan", name, spec=spec)
    Objects(environment.client).create(manifest)
    return figure_1_cluster.wait_for(environment, name, "Proposed")


def until(page: Page, place: str, said: str) -> None:
    """Wait until a part of the page says something."""
    page.until(f"#{place} to say {said!r}", SAYS, place, said)


def pods_by_node(page: Page) -> dict[str, list[str]]:
    """Return the workloads on each node, as somebody with a keyboard reads them."""
    found: dict[str, list[str]] = {}
    page.press("#nodes", Keys.HOME)
    while True:
        said = page.find("#chosen").text.removeprefix("node, ")
        if said in found:
            return found
        found[said] = [cells[1] for cells in page.listed_pods()]
        page.press("#nodes", Keys.ARROW_RIGHT)


def test_a_plan_is_seen_approved_and_seen_again(figure_1: ReleaseEnvironment, browser: Chrome) -> None:
    """From pods that wait to pods that run, and back by the slider."""
    with watching(browser, figure_1, control=True) as (_, page):
        until(page, "summary", "1 waiting")
        until(page, "waiting", "Insufficient memory")

        (move,) = ask_for_plan(figure_1, "seen")["status"]["moves"]
        until(page, "plan", "move")
        assert [cell.text for cell in page.all("#plan [aria-label=Steps] td")][:4] == [
            move["pod"], move["fromNode"], move["toNode"], "Waiting",
        ]  # fmt: skip
        for dark in (False, True):
            page.in_the_dark(dark=dark)
            assert page.violations() == []

        approve = page.find("#choices button")
        approve.click()
        assert approve.text == "Really approve: 1 pod will be evicted"
        approve.click()
        until(page, "summary", "0 waiting")
        until(page, "plan", "Completed")
        done = figure_1_cluster.wait_for(figure_1, "seen", "Completed")
        assert {one["type"]: one["status"] for one in done["status"]["conditions"]} == (
            dict.fromkeys(("Solved", "Optimal", "Verified", "Executed"), "True")
        )
        after = pods_by_node(page)
        assert sorted(after["node-0"] + after["node-1"]) == ["first", "second", "third"]

        page.to_the_start()
        until(page, "summary", "1 waiting")
        before = pods_by_node(page)
        assert "third" not in before["node-0"] + before["node-1"]
        page.until("the plan to be gone again", LACKS, "plans", "seen:")
        page.find("#live").click()
        until(page, "summary", "0 waiting")
        # It must work on a machine without any other connection.
        asked = page.run("return performance.getEntriesByType('resource')")
        here = page.run("return location.href")
        assert {one["name"].startswith(here) for one in asked} == {True}
        assert page.errors() == []


def test_only_who_may_change_plans_is_offered_it(environment: ReleaseEnvironment) -> None:
    """The cluster answers for who asks, not for who installed it."""
    with environment.cluster.api_client() as api:
        assert may_change_plans(api)
        api.set_default_header("Impersonate-User", "visitor")
        assert not may_change_plans(api)


def test_who_only_looks_has_no_button_and_a_saved_page_shows_what_was_seen(
    figure_1: ReleaseEnvironment, browser: Chrome, tmp_path: Path
) -> None:
    """Offline, and to its beginning."""
    with watching(browser, figure_1) as (server, page):
        until(page, "summary", "1 waiting")
        ask_for_plan(figure_1, "kept", "Consolidate")
        until(page, "plans", "kept: Proposed")
        until(page, "plan", "by the plan; proved: at least")
        assert page.all("#choices button") == []
        file = tmp_path / "saved.html"
        file.write_text(server.saved(), encoding="utf-8")

    page = opened(browser, file.as_uri())
    until(page, "plans", "kept: Proposed")
    until(page, "waiting", "Insufficient memory")
    page.to_the_start()
    page.until("the plan to be gone again", LACKS, "plans", "kept:")
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.violations() == []
    assert page.errors() == []
