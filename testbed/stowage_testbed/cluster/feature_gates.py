"""Feature gates and API groups beyond what a minor of Kubernetes has by default: a value of a cluster or a scenario."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.backend import SCHEDULER
from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER
from stowage_testbed.cluster.kwokctl_config import ExtraArgs
from stowage_testbed.toolchain import ToolMissingError, tool_path

GROUPS: Mapping[str, Mapping[str, str]] = {
    "GenericWorkload": {"1.36": "scheduling.k8s.io/v1alpha2", "1.37": "scheduling.k8s.io/v1beta1"},
    "CompositePodGroup": {"1.37": "scheduling.k8s.io/v1alpha3"},
}
"""The version of an API that a gate is of no use without, by minor; none of them is served by default."""

GATE = r"[A-Z][A-Za-z0-9]*"
GROUP_VERSION = r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?/v[0-9]+((alpha|beta)[0-9]+)?"
_UNKNOWN = re.compile(rf"unrecognized feature gate: ({GATE})")
_SAID = re.compile(r'err="(.*)"')


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Which gates are on or off, by name and in their order, and the versions of API groups that are served besides."""

    gates: tuple[tuple[str, bool], ...] = ()
    api_groups: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything differs from the defaults."""
        return bool(self.gates or self.api_groups)

    def __or__(self, other: "FeatureGates") -> "FeatureGates":
        """Return both; where they differ in a gate, ``other`` has the last word."""
        return make_gates({**dict(self.gates), **dict(other.gates)}, (*self.api_groups, *other.api_groups))

    def served(self, minor: str) -> set[str]:
        """Return the versions of API groups that are served besides, also for the sake of a gate."""
        return {*self.api_groups, *(GROUPS.get(name, {}).get(minor, "") for name, on in self.gates if on)} - {""}

    def lacks(self, wanted: "FeatureGates", minor: str) -> str:
        """Return what of ``wanted`` is not here, as options of `stowage up`; empty if all of it is here."""
        gates = [
            f"--feature-gate {name}={str(on).lower()}" for name, on in wanted.gates if (name, on) not in self.gates
        ]
        groups = [f"--api-group {one}" for one in wanted.api_groups if one not in self.served(minor)]
        return " ".join(gates + groups)

    def known_to(self, tool: str, minor: str) -> dict[str, bool]:
        """Return the gates that a program of the toolchain knows; one that is named an unknown gate does not start."""
        try:
            program = tool_path(tool, minor)
        except ToolMissingError:
            # In a container's image is one of the same minor.
            return dict(self.gates)
        known = dict(self.gates)
        while unknown := _UNKNOWN.search(_complaint(program, spell(known))):
            del known[unknown[1]]
        return known

    def values(self, minor: str) -> dict[str, Any]:
        """Return the chart's values for a scheduler with the gates that it knows; none if it knows none of them."""
        gates = self.known_to(SCHEDULER, minor)
        return {"scheduler": {"featureGates": gates}} if gates else {}

    def arguments(self, minor: str) -> ExtraArgs:
        """Return the arguments of the control plane."""
        found: dict[str, dict[str, str]] = {}
        for tool in (API_SERVER, CONTROLLER_MANAGER):
            if known := self.known_to(tool, minor):
                found[tool] = {"feature-gates": spell(known)}
        if served := self.served(minor):
            found.setdefault(API_SERVER, {})["runtime-config"] = ",".join(f"{one}=true" for one in sorted(served))
        return found

    def find_refusal(self, minor: str) -> str:
        """Return why no cluster of a minor can have them, as far as is known before one is up; empty if it can."""
        if not self:
            return ""
        for group in self.api_groups:
            serving = {of for by_minor in GROUPS.values() for of, one in by_minor.items() if one == group}
            if serving and minor not in serving:
                return f"Kubernetes {minor} does not serve {group}, which {' and '.join(sorted(serving))} can"
        known: set[str] = set()
        for tool in (API_SERVER, CONTROLLER_MANAGER):
            mine = self.known_to(tool, minor)
            known |= set(mine)
            if mine and (said := _complaint_of(tool, minor, spell(mine))):
                return f"{tool} of Kubernetes {minor} refuses its feature gates: {said}"
        unknown = sorted(set(dict(self.gates)) - known)
        return f"Kubernetes {minor} has no feature gate {' or '.join(unknown)}" if unknown else ""


DEFAULTS = FeatureGates()


def make_gates(gates: Mapping[str, bool], api_groups: Iterable[str] = ()) -> FeatureGates:
    """Return the value of some gates and API groups, in whatever order they are written."""
    return FeatureGates(tuple(sorted(gates.items())), tuple(sorted(set(api_groups))))


def parse_gates(gates: Iterable[str], api_groups: Iterable[str] = ()) -> FeatureGates:
    """Return what options say, as in ``GenericWorkload``, ``Name=false`` and ``group/v1beta1``, or an InputError."""
    found: dict[str, bool] = {}
    for text in gates:
        match = re.fullmatch(rf"({GATE})(?:=(true|false))?", text)
        if match is None:
            raise InputError(f"{text!r} names no feature gate; write it as in GenericWorkload or GenericWorkload=false")
        found[match[1]] = match[2] != "false"
    groups = tuple(api_groups)
    for text in groups:
        if not re.fullmatch(GROUP_VERSION, text):
            raise InputError(f"{text!r} names no version of an API group; write it as in scheduling.k8s.io/v1beta1")
    return make_gates(found, groups)


def spell(gates: Mapping[str, bool]) -> str:
    """Return the value of the flag ``--feature-gates``."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())


def _complaint_of(tool: str, minor: str, gates: str) -> str:
    try:
        return _complaint(tool_path(tool, minor), gates)
    except ToolMissingError:
        return ""


@cache
def _complaint(program: Path, gates: str) -> str:
    """Return what a program says against some gates: it checks them, and what they depend on, before anything else."""
    if not gates:
        return ""
    command = [str(program), f"--feature-gates={gates}", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    if done.returncode == 0:
        return ""
    said = _SAID.search(done.stderr)
    return said[1] if said else done.stderr.strip().rpartition("\n")[2]
