"""`stowage simulate`: a recorded trace in virtual time, by the scheduler's own code."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app, reading_input, say
from stowage_testbed.cli.options import AsJson, Minor, write_output
from stowage_testbed.run.request import SIMULATOR, install_needed

ARMS = ("policy", "high-node-utilization", "none")


@app.command()
def simulate(
    *,
    trace: Annotated[Path, typer.Option(help="What stowage record wrote: .jsonl.gz or .jsonl.")],
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Profile of the chart, or file with a KubeSchedulerConfiguration; else default, with --policy "
            "deterministic.",
        ),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="Try the PackingPolicy of this file, and report what it empties and saves.")
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            help="With --policy: policy, high-node-utilization or none, each also with -most-allocated; repeatable."
        ),
    ] = None,
    proof_s: Annotated[
        float, typer.Option(min=0, help="Seconds to prove the most that a window can empty; 0 for no proofs.")
    ] = 10.0,
    autoscaler: Annotated[
        bool, typer.Option(help="With --policy, remove empty nodes, and add them again when pods are pending.")
    ] = True,
    kubernetes: Minor = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the answer to this file as JSON; without --policy with every pod.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a trace in virtual time: minutes for days, without a cluster.

    Pods are created when they were and run as long as they did; the scheduler places them anew, which takes no virtual
    time. With --policy, its windows open meanwhile; the same trace is also replayed with the descheduler, and without
    either. Exits with 2 if the trace, the profile or the policy is at fault.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.policyday.evaluation import evaluate_policy  # noqa: PLC0415
    from stowage_testbed.policyday.evaluation import make_tables as tables_of_policy  # noqa: PLC0415
    from stowage_testbed.policyday.policy import find_arm, read_policy  # noqa: PLC0415
    from stowage_testbed.policyday.trial import TOOL, Settings  # noqa: PLC0415
    from stowage_testbed.simulate.trace_answer import (  # noqa: PLC0415
        make_document,
        make_tables,
        profile_file,
        simulate_trace,
    )
    from stowage_testbed.text.tables import terminal_text  # noqa: PLC0415
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415
    from stowage_testbed.trace.reading import read_trace  # noqa: PLC0415

    with reading_input():
        recorded = read_trace(trace)
        if arm and policy is None:
            raise InputError("--arm says how a policy is tried: name its file with --policy")
    if recorded.remark:
        say(f"{trace}: {recorded.remark}")
    minor = choose_minor(kubernetes)
    if policy is None:
        install_needed(SIMULATOR, minor=minor, optimizer=False)
        answer = simulate_trace(recorded, trace.name, profile or "default", minor=minor)
        screen = terminal_text(make_tables(answer))
        document, whole = make_document(answer), make_document(answer, pods=bool(output))
    else:
        settings = Settings(profile_file(profile or "deterministic"), autoscales=autoscaler, minor=minor)
        with reading_input():
            asked = read_policy(policy)
            arms = [find_arm(one) for one in dict.fromkeys(arm or ARMS)]
        install_needed(SIMULATOR, *({TOOL} if any(one.deschedules for one in arms) else ()), minor=minor)
        with ending_cleanly():
            evaluation = evaluate_policy(asked, trace.name, recorded, arms, settings, proof_s=proof_s, say=say)
        screen = terminal_text(tables_of_policy(evaluation))
        document = whole = asdict(evaluation)
    typer.echo(json.dumps(document, indent=2) if as_json else screen)
    if output:
        write_output(output, f"{json.dumps(whole, indent=None if policy is None else 2)}\n", "--output")
