"""A PackingPolicy's manifest and its windows, which the controller's own reader of schedules finds, and the arms."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple

import msgspec
import yaml
from msgspec import Meta, Struct

from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate.process import LineProcess, find_profile
from stowage_testbed.toolchain import choose_minor, tool_path

KIND = "PackingPolicy"
READING_LIMIT_S = 60.0


class Window(NamedTuple):
    """From ``start_s`` until ``end_s``, in seconds from the beginning of the trace."""

    start_s: float
    end_s: float


class Opening(Struct, frozen=True):
    """One entry of a policy's ``windows``."""

    schedule: str
    duration_s: Annotated[int, Meta(ge=1)] = msgspec.field(name="durationSeconds")
    time_zone: str | None = msgspec.field(name="timeZone", default=None)


class Policy(Struct, frozen=True):
    """What a policy asks for; ``None`` and empty where it leaves something out."""

    openings: Annotated[tuple[Opening, ...], Meta(min_length=1)] = msgspec.field(name="windows")
    max_moves: int | None = msgspec.field(name="maxMovesPerWindow", default=None)
    cool_down_s: float = msgspec.field(name="coolDownSeconds", default=0.0)
    schedulers: tuple[str, ...] = msgspec.field(name="schedulerNames", default=())
    nodes: dict[str, Any] | None = msgspec.field(name="nodeSelector", default=None)
    namespaces: dict[str, Any] | None = msgspec.field(name="namespaceSelector", default=None)
    name: str = ""
    manifest: Mapping[str, Any] = {}

    def automatic(self) -> dict[str, Any]:
        """Return the manifest with plans that nobody else has to approve."""
        spec = {"objective": "Consolidate", **self.manifest["spec"]}
        return {**self.manifest, "spec": {**spec, "approval": "Automatic"}}


class _Openings(Struct, rename="camel"):
    windows: tuple[Window, ...] = ()
    never_opens: tuple[int, ...] = ()
    error: str = ""


def find_windows(
    policy: Policy, began: datetime, length_s: float, say: Callable[[str], object], *, minor: str | None = None
) -> tuple[Window, ...]:
    """Return the windows that begin within ``length_s`` seconds, as the controller opens them.

    ``say`` is told what never opens. An `InputError` if the controller would refuse a schedule or a time zone.
    """
    question = {"windows": policy.openings, "began": began, "seconds": length_s}
    with LineProcess((tool_path("stowage-simulate", choose_minor(minor)), "--windows")) as reader:
        line = reader.ask(msgspec.json.encode(question), "when windows open", READING_LIMIT_S, "try again")
    answer = msgspec.json.decode(line, type=_Openings)
    if answer.error:
        raise InputError(answer.error)
    for number in answer.never_opens:
        place = f"policy {policy.name}: windows[{number}]: schedule {policy.openings[number].schedule!r}"
        say(f"{place} never opens a window: no day of the next five years matches")
    if not answer.windows:
        say(f"no window of policy {policy.name} opens within the {length_s / 3600:.2f} h of the trace")
    return answer.windows


def read_policy(path: Path) -> Policy:
    """Return the policy of a file; an `InputError` if it holds no PackingPolicy with windows."""
    try:
        manifest = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: is not YAML ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND:
        raise InputError(f"{path}: holds no {KIND}; it must be the only object there")
    try:
        policy = msgspec.convert(manifest["spec"], Policy)
        return msgspec.structs.replace(policy, name=manifest["metadata"]["name"], manifest=manifest)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise InputError(
            f"{path}: is no {KIND} that a cluster would take ({error!r}); try: kubectl "
            f"create --dry-run=server -f {path}"
        ) from error


MOST_ALLOCATED = {
    "name": "NodeResourcesFit",
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
