"""`stowage page` on a live cluster: pods arrive, and a plan is approved by the page."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import figure_1_cluster
import pytest
from browsing import Page
from figure_1_cluster import nodes, wait_for
from release_environment import ReleaseEnvironment
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.page.benchmark import await_picture
from benchmarks.page.browser import NoBrowserError, chromium
from stowage_testbed.api_client import Objects, manifest_of
from stowage_testbed.cluster.service_account import write_account_kubeconfig
from stowage_testbed.plan import PlanApi

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

SOON_S = 30.0
RBAC = "rbac.authorization.k8s.io"
COMMAND = (sys.executable, "-c", "from stowage_testbed.cli import main; main()", "page")


@contextmanager
def page_of(*options: str) -> Iterator[str]:
    """Run `stowage page` and yield the address that it prints."""
    command = [*COMMAND, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r"http://127\.0\.0\.1:\S+/", process.stdout.readline())
            assert found
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
        assert "the page is closed" in process.stdout.read()
        assert process.wait(SOON_S) == 0


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Page]:
    try:
        with chromium(tmp_path) as driver:
            yield Page(driver)
    except NoBrowserError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


def until(page: Page, selector: str, part: str) -> None:
    wait = WebDriverWait(page.driver, SOON_S, ignored_exceptions=(WebDriverException,))
    try:
        wait.until(lambda _: part in page.find(selector).text)
    except TimeoutException:
        shown = page.find("body").text
        pytest.fail(
            f"{selector} never says {part!r}; the page:\n{shown}", pytrace=False
        )


def test_pods_are_seen_to_arrive_and_a_plan_is_approved(
    environment: ReleaseEnvironment, browser: Page
) -> None:
    """From an empty cluster to a saving, without another tool."""
    with page_of("--cluster", environment.cluster.name, "--allow-changes") as address:
        browser.driver.get(address)
        await_picture(browser.driver)
        placed = int(browser.find("#count-placed").text)

        figure_1_cluster.fill(environment)
        try:
            until(browser, "#count-placed", str(placed + 2))
            until(browser, "#waiting", "Insufficient memory")
            spec = {"executionMode": "DryRun", "trigger": "Manual"}
            plan = manifest_of("PackingPlan", "by-page", spec=spec)
            Objects(environment.client).create(plan)
            until(browser, "#plan", "by-page: Proposed")
            until(browser, "#plan .controls", "Approve")
            browser.find("[data-verb=approve]").click()
            browser.find("#ask-yes").click()
            until(browser, "#said", "by-page is approved")
            until(browser, "#plan", "by-page: Completed")

            until(browser, "#count-waiting", "0")
            assert all(nodes(environment).values())
            assert wait_for(environment, "by-page", "Completed")
            assert browser.errors() == []
        finally:
            figure_1_cluster.empty(environment)


def test_a_page_that_only_reads_has_no_buttons(
    environment: ReleaseEnvironment, browser: Page
) -> None:
    """Although this account could do everything."""
    spec = {"executionMode": "DryRun", "trigger": "Manual"}
    Objects(environment.client).create(manifest_of("PackingPlan", "read", spec=spec))
    with page_of("--cluster", environment.cluster.name) as address:
        browser.driver.get(address)
        await_picture(browser.driver)
        until(browser, "#plans", "read")

        assert browser.all("[data-verb]") == []


def test_who_may_not_change_plans_has_no_buttons_and_is_refused(
    figure_1: ReleaseEnvironment, browser: Page, tmp_path: Path
) -> None:
    """The API server decides, not the page."""
    objects = Objects(figure_1.client)
    reads = [
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
        {
            "apiGroups": ["stowage.dev"],
            "resources": ["packingplans"],
            "verbs": ["list", "watch"],
        },
    ]
    role = {"kind": "ClusterRole", "name": "viewer", "apiGroup": RBAC}
    account = {"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}
    objects.create(manifest_of("ServiceAccount", "viewer", "default"))
    objects.create(manifest_of("ClusterRole", "viewer", rules=reads))
    objects.create(
        manifest_of("ClusterRoleBinding", "viewer", roleRef=role, subjects=[account])
    )
    spec = {"executionMode": "DryRun", "trigger": "Manual"}
    objects.create(manifest_of("PackingPlan", "not-mine", spec=spec))
    wait_for(figure_1, "not-mine", "Proposed")
    file = tmp_path / "kubeconfig"
    admin = figure_1.cluster.kubeconfig
    write_account_kubeconfig(figure_1.client, admin, "default", "viewer", file)

    with page_of("--kubeconfig", str(file), "--allow-changes") as address:
        browser.driver.get(address)
        await_picture(browser.driver)
        until(browser, "#plan", "not-mine: Proposed")
        assert browser.all("[data-verb]") == []
        answer = browser.driver.execute_async_script(
            "const done = arguments[0];"
            "fetch('plans/not-mine/abort', {method: 'POST',"
            " headers: {'Content-Type': 'application/json'}})"
            ".then(async (answer) => done([answer.status, await answer.text()]))"
        )

    assert answer == [409, "the API server refuses to change plan not-mine: Forbidden"]
    assert not objects.read("PackingPlan", "not-mine")["spec"].get("abort")
    PlanApi(figure_1.client).abort("not-mine")
