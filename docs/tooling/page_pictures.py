"""Makes the live page's pictures: `python -m docs.tooling.page_pictures FOLDER`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml
from PIL import Image
from selenium.webdriver import Chrome

from benchmarks.page.benchmark import await_picture
from benchmarks.page.browser import chromium
from benchmarks.page.fleet import Fleet, FleetSize
from stowage_testbed.live_page.feed import Feed
from stowage_testbed.live_page.page import page_of
from stowage_testbed.live_page.server import Content, serving
from stowage_testbed.observe.change import Change, Verb

SMALL = FleetSize(nodes=42, pods=700, workloads=9, past=900, rate_hz=2)
LARGE = FleetSize(past=5000)
WINDOW = (1440, 1180)
COLOURS = 96

MOVES = ((3, 24), (7, 19), (12, 30), (15, 33), (20, 8), (27, 5), (31, 13))
DONE = 2
"""How many of the moves have been made."""

STATUS = """
phase: Proposed
strategy: lexicographic
endReason: OPTIMAL
optimal: true
solveSeconds: 0.41
tiers:
- {priority: 1000, placedBefore: 71, placed: 71, upperBound: 71, optimal: true}
- {priority: 100, placedBefore: 214, placed: 216, upperBound: 216, optimal: true}
- {priority: 0, placedBefore: 686, placed: 690, upperBound: 690, optimal: true}
protected:
- {reason: disruption-budget, pods: 12, example: team-4/service-4-7c9d8b6f5-0031,
   inTheWayOf: 3}
- {reason: singleton, pods: 2, example: team-0/service-0-7c9d8b6f5-0009, inTheWayOf: 0}
"""


class PlannedFleet(Fleet):
    """A generated cluster with a plan that is being carried out."""

    def take_journal(self) -> list[Change]:
        """Return what comes next; the plan comes with the list."""
        journal = super().take_journal()
        if journal and journal[0].verb is Verb.LISTED:
            receipt = journal[-1].receipt
            journal.append(Change("PackingPlan", Verb.ADDED, receipt, _plan()))
        return journal


def _plan() -> dict[str, Any]:
    moves = [
        {
            "pod": f"team-{source % 9}/service-{source % 9}-7c9d8b6f5-{source:04x}",
            "fromNode": f"node-{source}",
            "toNode": f"node-{target}",
            "state": "Bound" if number < DONE else "Waiting",
        }
        for number, (source, target) in enumerate(MOVES)
    ]
    placements = [
        {"pod": f"team-1/service-1-7c9d8b6f5-{source:04x}", "node": f"node-{source}"}
        for source, _ in MOVES[:4]
    ]
    return {
        "metadata": {
            "uid": "plan",
            "name": "on-unschedulable-7f3k2",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"executionMode": "DryRun", "trigger": "OnUnschedulable"},
        "status": {
            **yaml.safe_load(STATUS),
            "moves": moves,
            "placements": placements,
        },
    }


@contextmanager
def _served(fleet: Fleet) -> Iterator[str]:
    with (
        Feed("production", fleet.opened, lambda: True) as feed,
        serving(Content(page_of("production"), feed.messages, {})) as address,
    ):
        yield address


def _picture(driver: Chrome, address: str, file: Path, *, dark: bool) -> None:
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.set_window_size(*WINDOW)
    driver.get(address)
    await_picture(driver)
    driver.execute_async_script("setTimeout(arguments[0], 800)")
    # Few colours are enough for bars, and take a third of the room.
    screen = Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    screen.quantize(COLOURS).save(file, optimize=True)


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium(Path(profile)) as driver,
    ):
        with _served(PlannedFleet(SMALL)) as address:
            for dark in (False, True):
                name = f"live-page-{'dark' if dark else 'light'}.png"
                _picture(driver, address, folder / name, dark=dark)
        with _served(Fleet(LARGE)) as address:
            _picture(driver, address, folder / "live-page-5000-nodes.png", dark=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
