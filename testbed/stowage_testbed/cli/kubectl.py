"""`kubectl stowage`: the commands that are for a cluster of your own.

kubectl runs a program ``kubectl-NAME`` of the path as a command and hands its arguments on: the options are the same.
"""

import typer

from stowage_testbed.cli.answers import defragment, whatif
from stowage_testbed.cli.main import main as run
from stowage_testbed.cli.plan_control import plan_app
from stowage_testbed.cli.retired import retire
from stowage_testbed.cli.watch import page

plugin = typer.Typer(
    name="kubectl stowage",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask whether pending pods would fit or nodes could be emptied if pods moved; approve plans.",
)
plugin.command()(whatif)
plugin.command()(defragment)
plugin.command()(page)
plugin.add_typer(plan_app)
retire(plugin, "savings", "kubectl stowage defragment")


def main() -> None:
    """Run a command of the plugin."""
    run(plugin)
