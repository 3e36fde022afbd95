"""The live page of a made cluster, in which pods come and go, in two browsers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from browsing import Firefox, Page, headless_firefox
from made_clusters import page_of
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from stowage_testbed.cluster.devices import Devices, DeviceTaint, make_classes, make_pool
from stowage_testbed.live.server import saved_page
from stowage_testbed.live.state import LiveState
from stowage_testbed.observe.change import Change, ReceiptClock, Verb

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=\"window.hurt='img'\"><script>window.hurt=1</script>"
SAID = (
    (
        "a-1",
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint "
        "{x: y}. preemption: 0/3 nodes are available: 3 No victims found.",
    ),
    ("a-2", "0/3 nodes are available: 3 Insufficient cpu. held by plan p."),
    ("b-1", "not tried by a scheduler yet"),
)
BEGUN = "return document.body.classList.contains('begun')"
SUMMARY = "return document.getElementById('summary').textContent"
KEYS = "return [...document.querySelectorAll('#keys li')].map((one) => one.innerText)"
PICTURE = "return document.getElementById('nodes').toDataURL()"
STEP_BACK = """
for (let step = 0; step < 5; step += 1) document.getElementById("earlier").click();
return document.getElementById("summary").textContent;
"""
TO_THE_BEGINNING = """
const slider = document.getElementById("time");
slider.value = slider.min;
slider.dispatchEvent(new Event("input"));
return document.getElementById("summary").textContent;
"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with headless_firefox(tmp_path_factory.mktemp("firefox")) as browser:
        yield browser


@contextmanager
def live_page(browser: Chrome, nodes: int, pods: int) -> Iterator[Page]:
    """Show a made cluster for the block."""
    with page_of(nodes, pods) as address:
        browser.get(address)
        page = Page(browser)
        page.until("the first picture", BEGUN)
        yield page
        # It would go on to ask the server that ends now.
        browser.get("about:blank")


def test_the_page_follows_the_cluster_and_stands_still_in_the_past(browser: Chrome) -> None:
    """Without being loaded again; every change knows what was before it.

    What came meanwhile is there when the reader comes back to now.
    """
    with live_page(browser, 10, 100) as page:
        said = page.run(SUMMARY)
        assert said.startswith("10 nodes: ")
        page.until("another summary", f"return ({SUMMARY[7:]}) !== arguments[0]", said)

        page.until("something to go back to", "return Number(time.max) > 1500")
        back = page.run(STEP_BACK)
        now = page.run("return time.value")
        before = page.run(TO_THE_BEGINNING)
        page.run(f"time.value = {now}; time.dispatchEvent(new Event('input'))")
        assert page.run(SUMMARY) == back

        assert page.run(TO_THE_BEGINNING) == before
        end = page.run("return Number(time.max)")
        page.until("time to go on", "return Number(time.max) > arguments[0] + 500", end)
        assert page.run(SUMMARY) == before
        assert page.find("#live").get_attribute("aria-pressed") == "false"
        page.find("#live").click()
        page.until("now", f"return ({SUMMARY[7:]}) !== arguments[0]", before)
        assert page.errors() == []


def test_from_five_hundred_nodes_on_it_is_a_map(browser: Chrome) -> None:
    """Bars of two pixels show nothing."""
    with live_page(browser, 499, 1000) as page:
        assert page.run(KEYS)[-1].endswith("others")
    with live_page(browser, 500, 1000) as page:
        keys = page.run(KEYS)
        page.press("#nodes", Keys.END)
        page.press("#nodes", Keys.ARROW_UP)

        assert (keys[0], keys[-1]) == ("0 %", "100 %")
        assert page.run("return document.getElementById('chosen').textContent").startswith("node, node-")
        assert page.violations() == []
        assert page.errors() == []


def test_what_bars_mean_can_be_chosen(browser: Chrome) -> None:
    """Height and colour each change the picture."""
    with live_page(browser, 10, 100) as page:
        pictures = {page.run(PICTURE)}
        for control, choice in (
            ("resource", "pods"), ("colour", "priority"), ("colour", "namespace"),
        ):  # fmt: skip
            page.choose(control, choice)
            pictures.add(page.run(PICTURE))

        assert len(pictures) == 4
        assert page.errors() == []


def saved(*pods: tuple[str, str], node: str = "n1") -> str:
    """Return a saved page of a node, and of pods that wait, with why."""
    state, receipt = LiveState(), ReceiptClock().now()
    bodies: list[tuple[str, dict[str, Any]]] = [("Node", {"metadata": {"name": node}})]
    for number, (name, said) in enumerate(pods):
        metadata = {"name": name, "namespace": "default", "uid": str(number)}
        condition = {"type": "PodScheduled", "status": "False", "message": said}
        status = {"conditions": [condition]}
        bodies.append(("Pod", {"metadata": metadata, "status": status}))
    state.begin(Change(kind, Verb.LISTED, receipt, body) for kind, body in bodies)
    now = {**state.now(), "began": 0, "clock": 0}
    return saved_page(node, {"now": now, "past": state.past()})


def test_what_the_scheduler_says_is_summed_up(open_page: Callable[[str], Page]) -> None:
    """A thousand messages have a few reasons."""
    page = open_page(saved(*SAID))

    rows = page.run(
        "return [...document.querySelectorAll('#waiting tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert rows == [
        ["Insufficient cpu", "2", "1 to 3", "default/a-1"],
        ["node(s) had untolerated taint {x: y}", "1", "2", "default/a-1"],
        ["held by plan p", "1", "", "default/a-2"],
        ["not tried by a scheduler yet", "1", "", "default/b-1"],
        ["a", "default", "0", "2"],
        ["b", "default", "0", "1"],
    ]
    assert page.violations() == []


def test_devices_can_be_chosen_and_each_pod_names_its_own(open_page: Callable[[str], Page]) -> None:
    """Who looks for what a GPU does should not have to read claims."""
    metadata = {"namespace": "default", "uid": "uid-train", "name": "train"}
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}
    t4 = Devices(model="T4", count=2, memory="16Gi", taints=(DeviceTaint(key="sick", effect="NoSchedule"),))
    result = {"driver": t4.driver, "pool": "n1", "device": "gpu-1"}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [{"uid": "uid-train"}]}
    state, receipt = LiveState(), ReceiptClock().now()
    bodies = [
        *(("DeviceClass", one) for one in make_classes([t4])),
        *(("ResourceSlice", one) for one in make_pool("n1", [t4])),
        ("Node", {"metadata": {"name": "n1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        ("ResourceClaim", {"metadata": {**metadata, "name": "gpu", "uid": "uid-gpu"}, "status": status}),
        ("Pod", {"metadata": metadata, "spec": {"nodeName": "n1", **claims}}),
        ("Pod", {"metadata": {**metadata, "name": "web", "uid": "uid-web"}, "spec": {"nodeName": "n1"}}),
    ]
    for _, body in bodies:
        body["metadata"].setdefault("uid", body["metadata"]["name"])
    state.begin(Change(kind, Verb.LISTED, receipt, body) for kind, body in bodies)
    page = open_page(saved_page("n1", {"now": {**state.now(), "began": 0, "clock": 0}, "past": state.past()}))

    page.choose("resource", "devices/t4 requested")
    page.press("#nodes", Keys.HOME)

    assert page.find("#words").text == "n1: 2 pods, devices/t4 50 %, 2 devices have a taint"
    titles = page.run("return [...document.querySelectorAll('#node th')].map((one) => one.innerText)")
    assert titles == ["pod", "workload", "priority", "devices"]
    assert [row[-1] for row in page.listed_pods()] == ["gpu-1", ""]
    assert page.find("#node .note").text == "Of this node, 2 devices have a taint."
    assert page.violations() == []


def test_hostile_words_do_nothing_but_stand_there(open_page: Callable[[str], Page]) -> None:
    """A message may hold what somebody wrote into an object."""
    page = open_page(saved((HOSTILE, HOSTILE), node=HOSTILE))
    page.press("#nodes", Keys.HOME)

    assert page.find("h1").text == HOSTILE
    assert page.find("#waiting tbody th").text == HOSTILE
    assert HOSTILE in page.find("#words").text
    assert page.run("return window.hurt ?? null") is None
    assert page.all("img") == []
    assert page.errors() == []


def test_firefox_shows_it_too(firefox: Firefox) -> None:
    """Begin, follow, go back, and axe finds nothing wrong."""
    with page_of(10, 100) as address:
        firefox.open(address)
        firefox.until("the first picture", BEGUN)
        said = firefox.run(SUMMARY)

        firefox.until("another summary", f"return ({SUMMARY[7:]}) !== {said!r}")
        firefox.until("something to go back to", "return Number(time.max) > 1500")
        assert firefox.run(TO_THE_BEGINNING).startswith("10 nodes: ")
        assert firefox.violations() == []
        assert firefox.errors == []
        firefox.open("about:blank")
