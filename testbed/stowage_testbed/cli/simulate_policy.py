"""`stowage simulate-policy`: a packing policy tried on a day in virtual time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.answers import AsJson, Output, show
from stowage_testbed.cli.main import Minor, app, reading_input
from stowage_testbed.run.tools import SIMULATOR, install_needed

if TYPE_CHECKING:
    from stowage_testbed.trace.reading import Trace

USUAL = ("policy", "high-node-utilization", "none")
PROOF_S = 10.0


@app.command("simulate-policy")
def simulate_policy(
    policy: Annotated[Path, typer.Argument(help="A file with a PackingPolicy.")],
    *,
    trace: Annotated[Path | None, typer.Option(help="What stowage record wrote: .jsonl[.gz].")] = None,
    day: Annotated[str | None, typer.Option(metavar="SEED,NODES", help="A made day, such as 1,200.")] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="policy, high-node-utilization or none, each also with -most-allocated; may be given more than once."
        ),
    ] = None,
    interval_s: Annotated[float, typer.Option(min=1, help="Between passes of the descheduler.")] = 300.0,
    threshold: Annotated[
        float,
        typer.Option(
            min=1, max=100, help="The descheduler empties nodes that use less, in percent of cpu, memory and pods."
        ),
    ] = 20.0,
    profile: Annotated[str, typer.Option(metavar="NAME|FILE", help="Of the scheduler on that day.")] = "deterministic",
    proof_s: Annotated[float, typer.Option(min=0, help="For each proof of a window's most; 0: no proofs.")] = PROOF_S,
    autoscaler: Annotated[bool, typer.Option(help="Empty nodes go, and come back when pods wait.")] = True,
    kubernetes: Minor = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Try a packing policy's windows on a recorded or made day, without a cluster.

    Shows nodes in use, cost, moves and refusals of each arm, and for each window how
    many nodes could have been emptied at most. Exits with 2 if what is given is at
    fault.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.policyday.arms import find_arm  # noqa: PLC0415
    from stowage_testbed.policyday.descheduler import TOOL  # noqa: PLC0415
    from stowage_testbed.policyday.policy import read_policy  # noqa: PLC0415
    from stowage_testbed.policyday.screen import make_tables  # noqa: PLC0415
    from stowage_testbed.policyday.trial import Settings, windows_of  # noqa: PLC0415
    from stowage_testbed.policyday.trying import try_policy  # noqa: PLC0415
    from stowage_testbed.simulate import find_profile  # noqa: PLC0415
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415

    with reading_input():
        read = read_policy(policy)
        arms = [find_arm(name) for name in dict.fromkeys(arm or USUAL)]
        name, passing = _read_day(trace, day)
        windows_of(passing, read)
    file = Path(profile)
    config = file if file.suffix in {".yaml", ".yml"} else find_profile(profile)
    minor = choose_minor(kubernetes)
    others = (TOOL,) if any(one.deschedules for one in arms) else ()
    install_needed(SIMULATOR, *others, minor=minor)
    thresholds = dict.fromkeys(("cpu", "memory", "pods"), threshold)
    with ending_cleanly():
        tried = try_policy(
            read,
            name,
            passing,
            arms,
            Settings(config, interval_s, thresholds, autoscaler, minor),
            proof_s=proof_s,
            say=lambda line: typer.echo(f"stowage: {line}", err=True),
        )
    show(terminal_text(make_tables(tried)), "", json.dumps(tried.document(), indent=2), as_json=as_json, output=output)


def _read_day(trace: Path | None, day: str | None) -> tuple[str, Trace]:
    from stowage_testbed.policyday.day import Day, make_day  # noqa: PLC0415
    from stowage_testbed.trace.reading import read_trace  # noqa: PLC0415

    if (trace is None) == (day is None):
        raise InputError("give a recorded day with --trace, or a made one with --day")
    if trace is not None:
        return trace.name, read_trace(trace)
    asked = re.fullmatch(r"(\d+),([1-9]\d*)", str(day))
    if not asked:
        raise InputError(f"--day {day}: write a seed and a number of nodes, as in 1,200")
    seed, nodes = map(int, asked.groups())
    return f"a made day (seed {seed})", make_day(Day(seed, nodes))
