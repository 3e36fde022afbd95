"""Commands that are gone: each names what to type instead, for one release."""

from __future__ import annotations

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.images import images
from stowage_testbed.cli.main import app
from stowage_testbed.cli.plan import plan_app
from stowage_testbed.cli.reproduce import reproduce_app
from stowage_testbed.cli.scenario import scenario_app

baseline_app = typer.Typer(name="baseline", hidden=True)
app.add_typer(baseline_app)

RETIRED = {
    app: {
        "purge": "stowage down --stale",
        "savings": "stowage defragment",
        "simulate-policy": "stowage simulate --policy FILE --trace FILE",
        "solve": "stowage-optimizer solve",
        "verify": "stowage-optimizer verify",
    },
    images: {"list": "stowage images build --list", "load": "stowage images build"},
    baseline_app: {
        "check": "stowage compare --results BUNDLE --against FILE",
        "save": "stowage compare --results BUNDLE --save FILE",
    },
    plan_app: {"list": "kubectl get packingplans", "show": "kubectl describe packingplan NAME"},
    reproduce_app: {"merge": "--workers or --dask in place of --shard", "report": "stowage report FOLDER"},
    scenario_app: {"new": "stowage init --scenario NAME"},
}
"""By the group that had them."""


def retire(group: typer.Typer, name: str, instead: str) -> None:
    """Have a command say what to type instead."""

    @group.command(
        name,
        hidden=True,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )
    def gone() -> None:
        raise InputError(f"the command {name!r} is gone; use: {instead}")


for _group, _names in RETIRED.items():
    for _name, _instead in _names.items():
        retire(_group, _name, _instead)
