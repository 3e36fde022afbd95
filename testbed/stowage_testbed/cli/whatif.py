"""`stowage whatif`: would the pending pods fit? Nothing is ever written."""

from __future__ import annotations

import dataclasses
import json

from stowage_testbed.cli.answers import (
    AsJson,
    AskedPrices,
    Everything,
    MaxMoves,
    Output,
    PriceFile,
    TimeLimit,
    Values,
    read_inventory,
    show,
)
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, Lists


@app.command("whatif")
def whatif(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: Lists = None,
    kubernetes: Minor = None,
    prices: PriceFile = None,
    price: AskedPrices = None,
    time_limit_s: TimeLimit = 10.0,
    max_moves: MaxMoves = None,
    values: Values = None,
    everything: Everything = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Say how many pending pods would fit, after which moves, and what lies idle.

    Only lists are asked of the API server. The scheduler's own plugins judge every
    plan, those of the cluster's own minor of Kubernetes unless another is named; what
    could not be judged is told. The answer is one screen long; --all, --output and
    --json tell everything.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.simulate import find_profile  # noqa: PLC0415
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415
    from stowage_testbed.whatif.asking import PlanLimits, findings_of  # noqa: PLC0415
    from stowage_testbed.whatif.details import tables  # noqa: PLC0415
    from stowage_testbed.whatif.prices import prices_of  # noqa: PLC0415
    from stowage_testbed.whatif.release import release_of  # noqa: PLC0415
    from stowage_testbed.whatif.screen import screen  # noqa: PLC0415

    limits = PlanLimits(time_limit_s, max_moves, release_of(values))
    known = prices_of(prices, price or ())
    inventory = known.priced(read_inventory(cluster, context, kubeconfig, file, minor=kubernetes))
    with ending_cleanly():
        found = findings_of(inventory, find_profile("deterministic"), limits)
    show(
        screen(found),
        terminal_text(tables(found)) if everything else "",
        json.dumps(dataclasses.asdict(found), indent=2),
        as_json=as_json,
        output=output,
    )
