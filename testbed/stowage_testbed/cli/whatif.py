"""`stowage whatif`: would the pending pods fit? Nothing is ever written."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cli.which_cluster import Context, Kubeconfig, Lists


@app.command("whatif")
def whatif(
    *,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: Lists = None,
    kubernetes: Minor = None,
    time_limit_s: Annotated[
        float, typer.Option(min=0.1, help="For the whole answer, once all is read.")
    ] = 10.0,
    max_moves: Annotated[
        int | None, typer.Option(min=0, help="Plans with at most so many moves.")
    ] = None,
    values: Annotated[
        Path | None,
        typer.Option(
            help="Values of a release, as helm get values --all -o yaml prints them: "
            "their scheduler, rules and limits count, not the chart's defaults."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every finding after the summary.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Write every finding there too, as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
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
    from stowage_testbed.toolchain import choose_minor, install_tools  # noqa: PLC0415
    from stowage_testbed.toolchain.minors import find_minor  # noqa: PLC0415
    from stowage_testbed.whatif.asking import PlanLimits, findings_of  # noqa: PLC0415
    from stowage_testbed.whatif.details import tables  # noqa: PLC0415
    from stowage_testbed.whatif.reading import (  # noqa: PLC0415
        read_context,
        read_files,
    )
    from stowage_testbed.whatif.release import release_of  # noqa: PLC0415
    from stowage_testbed.whatif.screen import screen  # noqa: PLC0415

    release = release_of(values)
    inventory = read_files(file) if file else read_context(context, kubeconfig)
    if kubernetes is not None:
        version = find_minor(choose_minor(kubernetes)).kubernetes
        inventory = dataclasses.replace(inventory, version=version)
    install_tools(("stowage-simulate",), minor=inventory.minor)
    limits = PlanLimits(time_limit_s, max_moves, release)
    with ending_cleanly():
        found = findings_of(inventory, find_profile("deterministic"), limits)
    document = json.dumps(dataclasses.asdict(found), indent=2)
    if as_json:
        typer.echo(document)
    else:
        details = terminal_text(tables(found)) if everything else ""
        typer.echo("\n\n".join(filter(None, (screen(found), details))))
    if output:
        _write(output, document)


def _write(path: Path, document: str) -> None:
    try:
        write_whole(path, f"{document}\n")
    except OSError as error:
        raise StowageError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder of "
            "yours with --output, or take what --json prints"
        ) from error
