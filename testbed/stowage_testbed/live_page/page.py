"""The page of one cluster, served while a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from stowage_testbed.live_page.access import may_change_plans, watching
from stowage_testbed.live_page.feed import Feed
from stowage_testbed.live_page.server import Content, serving
from stowage_testbed.page.offline import BARS, offline_page
from stowage_testbed.plan import PlanApi

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

PACKAGE = "stowage_testbed.live_page"

SCRIPTS = (
    *BARS, "model.js", "layout.js", "palette.js", "map.js", "waiting.js", "plans.js",
    "summary.js", "page.js",
)  # fmt: skip
"""In the order in which they need each other."""


FIRST_PICTURE = "first-picture"
"""The browser's mark of the moment at which nodes are drawn."""


@contextmanager
def live_page(
    api: ApiClient, cluster: str, *, port: int = 0, changes: bool = False
) -> Iterator[str]:
    """Watch a cluster, serve its page, and yield the address.

    Parameters
    ----------
    api
        A client of the cluster; the caller closes it.
    cluster
        Its name, as the page shows it.
    port
        Of 127.0.0.1; 0 for any that is free.
    changes
        Whether plans can be approved and given up from the page, as far as the viewer
        has the right; else it only reads.

    Raises
    ------
    StowageError
        The cluster does not answer, nodes or pods may not be watched, or the port is in
        use.
    """
    plans = PlanApi(api)
    may_change = partial(may_change_plans, api) if changes else bool
    verbs = {"approve": plans.approve, "abort": plans.abort} if changes else {}
    with (
        Feed(cluster, partial(watching, api), may_change) as feed,
        serving(Content(page_of(cluster), feed.messages, verbs), port) as address,
    ):
        yield address


def page_of(cluster: str) -> str:
    """Return the page as HTML; what it shows comes by its stream."""
    return offline_page(
        PACKAGE, scripts=SCRIPTS, connects=True, images=True, cluster=cluster
    )
