"""The page itself: live, where a server goes on telling it, or saved with all of it."""

from __future__ import annotations

from typing import Any

import msgspec

from stowage_testbed.page.offline import offline_page

SCRIPTS = (
    "dom.js",
    "axis.js",
    "moment.js",
    "bars.js",
    "node.js",
    "world.js",
    "source.js",
    "places.js",
    "picture.js",
    "waiting.js",
    "plans.js",
    "page.js",
)


def live_page(cluster: str) -> str:
    """Return the page of a server, which asks it for what it shows."""
    return _page(cluster, None, saved=False)


def saved_page(cluster: str, seen: dict[str, Any]) -> str:
    """Return a page that holds all it shows."""
    return _page(cluster, msgspec.json.decode(msgspec.json.encode(seen)), saved=True)


def _page(cluster: str, data: object, *, saved: bool) -> str:
    return offline_page(
        "live", scripts=SCRIPTS, data=data, images=True, connects=not saved, cluster=cluster, saved=saved
    )
