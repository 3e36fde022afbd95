"""`kubectl stowage`: what of the command line is for a cluster of one's own.

kubectl takes every program ``kubectl-NAME`` on the path for a command of its own. It
hands its arguments on as they are, so that the options are those of `stowage`.
"""

from __future__ import annotations

import typer

from stowage_testbed.cli.answers import defragment, whatif
from stowage_testbed.cli.main import main as run
from stowage_testbed.cli.page import page
from stowage_testbed.cli.plan import plan_app
from stowage_testbed.cli.retired import retire

plugin = typer.Typer(
    name="kubectl stowage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Would pending pods fit, could nodes be emptied, if others moved? Plans of the Stowage scheduler.",
)
plugin.command("whatif")(whatif)
plugin.command()(defragment)
plugin.command("page")(page)
plugin.add_typer(plan_app)
retire(plugin, "savings", "kubectl stowage defragment")


def main() -> None:
    """Run a command of the plugin."""
    run(plugin)
