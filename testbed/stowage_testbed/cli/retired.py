"""Commands that are gone: each names what to type instead, for one release."""

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app
from stowage_testbed.cli.plan_control import plan_app
from stowage_testbed.cli.reproduce import reproduce_app
from stowage_testbed.cli.scenario import scenario_app
from stowage_testbed.cli.tools import images

baseline_app = typer.Typer(name="baseline", hidden=True)
app.add_typer(baseline_app)


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


retire(app, "purge", "stowage down --stale")
retire(app, "savings", "stowage defragment")
retire(app, "simulate-policy", "stowage simulate --policy FILE --trace FILE")
retire(app, "solve", "stowage-optimizer solve")
retire(app, "verify", "stowage-optimizer verify")
retire(images, "list", "stowage images build --list")
retire(images, "load", "stowage images build")
retire(baseline_app, "check", "stowage compare --results BUNDLE --against FILE")
retire(baseline_app, "save", "stowage compare --results BUNDLE --save FILE")
retire(plan_app, "list", "kubectl get packingplans")
retire(plan_app, "show", "kubectl describe packingplan NAME")
retire(reproduce_app, "merge", "--workers or --dask in place of --shard")
retire(reproduce_app, "report", "stowage report FOLDER")
retire(scenario_app, "new", "stowage init --scenario NAME")
