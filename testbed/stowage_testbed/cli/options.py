"""Options that several commands have, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stowage_testbed.api.client import new_api_client
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.files import write_whole
from stowage_testbed.cluster.feature_gates import FeatureGates, parse_gates
from stowage_testbed.cluster.listing import find_cluster

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

    from stowage_testbed.scenario.model import Scenario

RESULTS = Path("results")
SCENARIOS = Path("scenarios")

Names = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders or names; else all of ./scenarios, or all that come with Stowage without that folder.",
        metavar="[NAME]...",
    ),
]
Labels = Annotated[list[str] | None, typer.Option("--label", help="Only scenarios with this label; repeatable.")]
Minor = Annotated[
    str | None,
    typer.Option("--kubernetes", metavar="MINOR", help="Minor of Kubernetes, such as 1.36; else $STOWAGE_KUBERNETES."),
]
Lists = Annotated[
    list[Path] | None,
    typer.Option(
        "--file", help="Read what kubectl get nodes,pods,pdb -A -o json printed instead of a cluster; repeatable."
    ),
]
Trace = Annotated[
    Path | None, typer.Option(help="Replay what `stowage record` wrote instead of a scenario, on the recorded nodes.")
]
Speed = Annotated[float, typer.Option(min=0.001, help="How many times as fast as recorded the trace is replayed.")]
Duration = Annotated[
    str | None, typer.Option("--for", help="Stop after this time, as in 90s, 20m or 1h; without it at Ctrl-C.")
]
ResultsFolder = Annotated[Path, typer.Option("--results", help="Folder of the results bundles.")]
RunningCluster = Annotated[str | None, typer.Option("--cluster", help="Run on this cluster, which is up.")]
KeepCluster = Annotated[bool, typer.Option("--keep-cluster", help="Leave the run's cluster up.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


@dataclass(frozen=True, slots=True)
class Features:
    """What a cluster and its schedulers have beyond the defaults of their minor."""

    feature_gate: Annotated[
        list[str] | None,
        typer.Option(metavar="GATE", help="Feature gate to switch on, or off as in GATE=false; repeatable."),
    ] = None
    api_group: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP/VERSION", help="Version of an API group to serve besides; repeatable."),
    ] = None

    def read(self) -> FeatureGates:
        """Return them, or raise an InputError."""
        return parse_gates(self.feature_gate or (), self.api_group or ())

    def add_to(self, scenario: Scenario) -> Scenario:
        """Return a scenario with them; where it says something else of a gate, they have the last word."""
        return replace(scenario, features=scenario.features | self.read())


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Which cluster a command reads: one of the testbed, or one of the kubeconfig's."""

    cluster: Annotated[str | None, typer.Option(help="A cluster of the testbed instead of the kubeconfig's.")] = None
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig; else its current one.")] = None
    kubeconfig: Annotated[Path | None, typer.Option(help="Kubeconfig to use instead of kubectl's.")] = None

    def new_client(self) -> ApiClient:
        """Return a new client, which the caller closes; an InputError if two clusters are named, or an unusable one."""
        kubeconfig = self.kubeconfig
        if self.cluster is not None:
            if self.context is not None or kubeconfig is not None:
                raise InputError(
                    "--cluster names a cluster of the testbed, which has its own "
                    "kubeconfig: leave out --context and --kubeconfig"
                )
            kubeconfig = find_cluster(self.cluster).workdir / "kubeconfig.yaml"
        return new_api_client(kubeconfig, self.context)


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, for each keyword parameter that is a dataclass, that one's fields as options in its place."""
    signature = inspect.signature(command, eval_str=True)
    annotations = {name: one.annotation for name, one in signature.parameters.items()}
    groups = {name: one for name, one in annotations.items() if isinstance(one, type) and is_dataclass(one)}
    options = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in options[name] if option in given})
        command(**given)

    parameters = list[inspect.Parameter]()
    for one in signature.parameters.values():
        own = options.get(one.name)
        parameters += [one] if own is None else [option.replace(kind=one.KEYWORD_ONLY) for option in own.values()]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # typer reads it
    return run


def write_output(path: Path, content: str, option: str) -> None:
    """Write what a command found to the file that an option names, or raise a StowageError."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise StowageError(f"{path} cannot be written: {error.strerror}; name another file with {option}") from error
