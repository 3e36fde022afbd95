"""The arms of a policy's trial: what acts in the windows, among them the descheduler, and how pods are placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate import find_profile
from stowage_testbed.simulate.line_process import LineProcess
from stowage_testbed.toolchain import tool_path

SCORING = "NodeResourcesFit"
MOST_ALLOCATED = {
    "name": SCORING,
    "args": {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        }
    },
}
"""As the descheduler's documents ask for beside HighNodeUtilization."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What acts in the windows: the descheduler's plugin, the policy by the optimiser's plans, or nothing.

    With ``most_allocated`` the scheduler scores by it. With ``is_killed`` it is killed in each window, again and again.
    """

    name: str
    deschedules: bool = False
    most_allocated: bool = False
    plans: bool = False
    is_killed: bool = False


ARMS = {
    arm.name: arm
    for arm in (
        Arm("policy", plans=True),
        Arm("policy-most-allocated", plans=True, most_allocated=True),
        Arm("policy-killed", plans=True, is_killed=True),
        Arm("none"),
        Arm("none-most-allocated", most_allocated=True),
        Arm("high-node-utilization", deschedules=True),
        Arm("high-node-utilization-most-allocated", deschedules=True, most_allocated=True),
    )
}


def find_arm(name: str) -> Arm:
    """Return the arm of a name, or raise an InputError with those that there are."""
    if name not in ARMS:
        raise InputError(f"no arm {name!r}; there are: {', '.join(ARMS)}")
    return ARMS[name]


WITH_OPTIMISER = {"default": "optimizer", "deterministic": "optimizer-deterministic"}
"""The chart's profiles that differ in the optimiser."""


@contextmanager
def configured(arm: Arm, profile: Path, arguments: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """Yield an arm's KubeSchedulerConfiguration, from a profile without the optimiser and the plugin's ``arguments``.

    An `InputError` if the profile is not of that kind, or the arm plans and the chart has none with the optimiser.
    """
    if arm.plans:
        if profile.stem not in WITH_OPTIMISER or profile != find_profile(profile.stem):
            raise InputError(
                f"{profile}: a policy needs a scheduler with the optimiser: leave out "
                "--profile, or name default or deterministic"
            )
        profile = find_profile(WITH_OPTIMISER[profile.stem])
    plugins = [MOST_ALLOCATED] if arm.most_allocated else []
    if arm.plans:
        plugins.append({"name": "PriorityOptimizer", "args": dict(arguments or {})})
    try:
        configuration = yaml.safe_load(profile.read_text(encoding="utf-8"))
        for one in configuration["profiles"]:
            names = {plugin["name"] for plugin in plugins}
            others = [a for a in one.get("pluginConfig", ()) if a["name"] not in names]
            if others or plugins:
                one["pluginConfig"] = [*others, *plugins]
    except (OSError, yaml.YAMLError, TypeError, KeyError) as error:
        raise InputError(f"{profile}: is no KubeSchedulerConfiguration with profiles ({error})") from error
    with TemporaryDirectory() as folder:
        file = Path(folder) / profile.name
        file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        yield file


TOOL = "descheduler-pass"

THRESHOLDS = {"cpu": 20, "memory": 20, "pods": 20}
"""In percent; those of upstream's own example. Nodes below all of them are emptied."""

LIMIT_S = 600.0
"""For one answer."""


class _Done(msgspec.Struct):
    kept: dict[str, int]


class _Answer(msgspec.Struct):
    evict: str = ""
    done: _Done | None = None


class Descheduler(LineProcess):
    """The descheduler's plugin with thresholds in percent by resource, for as long as the ``with`` block lasts."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        arguments = msgspec.json.encode({"thresholds": dict(thresholds)}).decode()
        super().__init__((tool_path(TOOL), "--arguments", arguments))

    def run_pass(self, state: Mapping[str, Any], evict: Callable[[str], str]) -> dict[str, int]:
        """Have it look at a state, and return how many pods it did not evict, by reason.

        ``evict`` evicts ``namespace/name``, or returns why that is refused. A `StowageError` if the process ended or is
        late.
        """
        line: Mapping[str, Any] = state
        while True:
            said = self.ask(msgspec.json.encode(line), "the descheduler", LIMIT_S, "try a smaller trace")
            answer = msgspec.json.decode(said, type=_Answer)
            if answer.done:
                return answer.done.kept
            line = {"refused": evict(answer.evict)}
