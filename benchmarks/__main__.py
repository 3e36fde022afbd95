"""`python -m benchmarks`: what Stowage measures of itself."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.engine import ScopeName, find_scope, run_command, say
from benchmarks.live.cell import Part as LivePart
from stowage_testbed.cluster import backend

CLUSTER = backend.TOOLS[backend.Backend.KWOK_BINARY]
Scope = Annotated[ScopeName, typer.Option(help="smoke: a minute; default: an hour; full: hours.")]
Seed = Annotated[int, typer.Option(help="Everything that is drawn comes from it.")]
Profiles = Annotated[list[str] | None, typer.Option(help="Beside stock, this one only; may be given more than once.")]
Results = Annotated[Path, typer.Option(help="Folder of the results.")]
RESULTS = Path("results")
FOLDER = typer.Option(
    exists=True, file_okay=False, help="Folder of the OpenB trace's CSV files; without, made fleets only."
)

app = typer.Typer(no_args_is_help=True, help="Benchmarks; results are resumable.")


@app.command()
def optimizer(
    *, scope: Scope = ScopeName.DEFAULT, trace: Annotated[Path | None, FOLDER] = None, results: Results = RESULTS
) -> None:
    """Measure plans of real and of made fleets, beside other strategies."""
    from benchmarks.optimizer.benchmark import run_benchmark  # noqa: PLC0415
    from benchmarks.optimizer.scope import SCOPES  # noqa: PLC0415

    run_command(lambda: run_benchmark(find_scope(SCOPES, scope), trace, results, say))


@app.command()
def score_cache(*, scope: Scope = ScopeName.DEFAULT, results: Results = RESULTS) -> None:
    """Compare the score cache with the stock scheduler, in process, on one core."""
    from benchmarks.score_cache.benchmark import SCOPES, run_benchmark  # noqa: PLC0415

    run_command(lambda: run_benchmark(find_scope(SCOPES, scope), results, say), ["stowage-simulate"])


@app.command()
def gangs(*, scope: Scope = ScopeName.DEFAULT, results: Results = RESULTS) -> None:
    """Compare plans with gangs with the stock scheduler's workload-aware preemption, in process."""
    from benchmarks.gangs.benchmark import SCOPES, run_benchmark  # noqa: PLC0415

    run_command(lambda: run_benchmark(find_scope(SCOPES, scope), results, say), ["stowage-simulate"])


@app.command()
def upstream(
    *,
    scope: Annotated[
        ScopeName, typer.Option(help="short: 12 minutes; default: 50; full: 5,000 nodes, hours.")
    ] = ScopeName.DEFAULT,
    profile: Profiles = None,
    results: Results = RESULTS,
) -> None:
    """Measure the scheduler's profiles with upstream's scheduler_perf, beside stock."""
    from benchmarks.upstream.benchmark import SCOPES, run_benchmark  # noqa: PLC0415
    from benchmarks.upstream.profiles import choose_profiles  # noqa: PLC0415

    run_command(lambda: run_benchmark(find_scope(SCOPES, scope), choose_profiles(profile), results, say), ["etcd"])


@app.command()
def upstream_devices(
    *,
    scope: Annotated[
        ScopeName, typer.Option(help="smoke: 2 nodes; default: 200 nodes; full: 500 nodes, hours.")
    ] = ScopeName.DEFAULT,
    profile: Profiles = None,
    results: Results = RESULTS,
) -> None:
    """Measure the profiles that plan or score devices with upstream's cases of them, beside stock."""
    from benchmarks.upstream.devices import run_devices  # noqa: PLC0415

    run_command(lambda: run_devices(scope, profile, results, say), ["etcd"])


@app.command()
def upstream_gangs(
    *,
    scope: Annotated[
        ScopeName, typer.Option(help="smoke: 10 nodes; default: 5,000 nodes, 1,000 gangs; full: 9,000 pods, hours.")
    ] = ScopeName.DEFAULT,
    profile: Profiles = None,
    results: Results = RESULTS,
) -> None:
    """Measure the profiles with upstream's cases of pod groups and of their preemption, beside stock."""
    from benchmarks.upstream.gangs import run_gangs  # noqa: PLC0415

    run_command(lambda: run_gangs(scope, profile, results, say), ["etcd"])


@app.command()
def upstream_e2e(
    *,
    profile: Profiles = None,
    only: Annotated[str, typer.Option(help="Run tests only whose names have these words.")] = "",
    results: Results = RESULTS,
) -> None:
    """Run upstream's end-to-end tests of scheduling on clusters of fake nodes."""
    from benchmarks.upstream.end_to_end import run_specs  # noqa: PLC0415
    from benchmarks.upstream.profiles import choose_profiles  # noqa: PLC0415

    run_command(lambda: run_specs(choose_profiles(profile), only, results, say))


@app.command()
def live(
    *,
    scope: Scope = ScopeName.DEFAULT,
    part: Annotated[
        list[LivePart] | None, typer.Option(help="Measure this part only; may be given more than once.")
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Measure plans on live clusters, cell by cell."""
    from benchmarks.live.cell import SCOPES  # noqa: PLC0415
    from benchmarks.live.rounds import run_benchmark  # noqa: PLC0415

    run_command(lambda: run_benchmark(find_scope(SCOPES, scope), part or list(LivePart), results, say))


@app.command()
def faults(
    *,
    scenario: Annotated[list[str] | None, typer.Option(help="Try this one only; may be given more than once.")] = None,
    tries: Annotated[int | None, typer.Option(min=1, help="Of each; without, its own number.")] = None,
    seed: Seed = 1,
    results: Results = RESULTS,
) -> None:
    """Break things on purpose, again and again, and count what is lost.

    Resumable, and tries of several calls add up. Exits with 1 if something was lost in
    a try, and with 3 if the tries could not go on.
    """
    from benchmarks.faults.session import run_benchmark  # noqa: PLC0415

    run_command(lambda: run_benchmark(scenario or (), tries, seed, results, say), CLUSTER)


@app.command()
def soak(
    *,
    hours: Annotated[float, typer.Option(min=0.01, help="How long it runs.")] = 2 / 3,
    seed: Seed = 1,
    warm_up_s: Annotated[float, typer.Option(min=0, help="Of each process; not counted for what grows.")] = 900.0,
    results: Results = RESULTS,
) -> None:
    """Try faults one after the other for long, and look for what grows."""
    from benchmarks.faults.soak import run_soak  # noqa: PLC0415

    run_command(lambda: run_soak(hours, seed, warm_up_s, results, say), CLUSTER)


if __name__ == "__main__":
    app()
