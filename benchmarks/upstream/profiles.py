"""The schedulers that upstream's harness measures, and what each cannot be asked."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate.process import find_profile


@dataclass(frozen=True, slots=True)
class Profile:
    """One scheduler, made with no plugins (``none``) or all of them (``registered``).

    ``shipped`` is the profile that configures it, empty for the stock configuration. With ``plans`` an optimiser runs
    beside it, and the API server knows its plans. The least ratio to stock that is promised of any case is the
    ``promise``; None where speed is the price of another one, which is stated instead.
    """

    name: str
    shipped: str = ""
    plugins: str = "registered"
    gates: Mapping[str, bool] = field(default_factory=dict)
    preempts: bool = True
    plans: bool = False
    promise: float | None = None

    def configuration(self, folder: Path, socket: Callable[[], Path]) -> Path | None:
        """Return the file of its configuration; None for the stock one."""
        if not self.shipped:
            return None
        shipped = find_profile(self.shipped)
        if not self.plans:
            return shipped.resolve()
        content: dict[str, Any] = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        for one in content["profiles"]:
            arguments = {"apiVersion": "stowage.dev/v1alpha1", "kind": "PriorityOptimizerArgs", "socket": str(socket())}
            one["pluginConfig"] = [{"name": "PriorityOptimizer", "args": arguments}]
        file = folder.resolve() / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file


NO_LOSS = 0.97
"""Of the stock scheduler's pace: what two equal schedulers may differ by here."""

STOCK = Profile("default", plugins="none")
PROFILES = (
    STOCK,
    Profile("registered", promise=NO_LOSS),
    Profile("score-cache", shipped="score-cache", promise=NO_LOSS),
    Profile("deterministic", shipped="deterministic", gates={"OpportunisticBatching": False}, preempts=False),
    Profile("optimizer", shipped="optimizer", preempts=False, plans=True),
    Profile("devices", shipped="devices"),
)


def choose_profiles(asked: Collection[str] | None, profiles: Sequence[Profile] = PROFILES) -> list[Profile]:
    """Return stock and the profiles that are asked for, all if none is named."""
    known = {one.name: one for one in profiles}
    for name in asked or ():
        if name not in known:
            raise InputError(f"there is no profile {name!r} here; name one of {', '.join(known)}")
    return [one for one in profiles if one is STOCK or not asked or one.name in asked]


CASES_FILE = "performance-config.yaml"
CHOSEN = "chosen"
"""The label of the workload that is run."""

OFF_BY_DEFAULT = {
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRAWorkloadResourceClaims",
    "GenericWorkload",
    "TopologyAwareWorkloadScheduling",
}
"""Feature gates of upstream's cases that Kubernetes 1.37 has switched off."""

PREEMPTING = {
    "GangPreemptionAffinity",
    "GangPreemptionBasic",
    "GangPreemptionPodGroups",
    "PreemptionAsync",
    "PreemptionBasic",
    "PreemptionPVs",
}
"""Cases whose pods wait for ever unless preemption makes room for them."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case of upstream's."""

    topic: str
    content: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return upstream's name of it."""
        return str(self.content["name"])

    def left_out(self, profile: Profile, switched_on: Collection[str] = ()) -> str:
        """Return why the profile is not asked this case; empty if it is.

        Of cases that need feature gates, those are asked whose gates are ``switched_on``.
        """
        gates = sorted(OFF_BY_DEFAULT & set(self.content.get("featureGates") or {}) - set(switched_on))
        if gates:
            return f"needs {', '.join(gates)}, which is off by default"
        if profile.shipped and "schedulerConfigPath" in self.content:
            return "brings a configuration of its own, which a profile would replace"
        if not profile.preempts and self.name in PREEMPTING:
            return "waits for preemption, which the profile is without"
        return ""

    def smallest(self) -> Mapping[str, Any]:
        """Return the workload that upstream's own presubmit runs: seconds."""
        return self._labelled("integration-test")[0]

    def largest(self) -> Mapping[str, Any]:
        """Return upstream's performance test of the most nodes, of which the first.

        It is the smallest workload where upstream has none for performance.
        """
        return max(self._labelled("performance"), key=lambda one: one["params"].get("initNodes", 0))

    def workload(self, name: str) -> Mapping[str, Any]:
        """Return upstream's workload of this name; an `InputError` if there is none."""
        workloads: Sequence[Mapping[str, Any]] = self.content["workloads"]
        for one in workloads:
            if one["name"] == name:
                return one
        known = ", ".join(str(one["name"]) for one in workloads)
        raise InputError(f"upstream's case {self.name} has no workload {name!r}; it has {known}")

    def _labelled(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Return the workloads with the label; the first of all if none has it."""
        workloads: Sequence[Mapping[str, Any]] = self.content["workloads"]
        found = [one for one in workloads if label in (one.get("labels") or ())]
        return found or workloads[:1]

    def document(
        self,
        workload: Mapping[str, Any],
        size: Mapping[str, int],
        gates: Mapping[str, bool],
        configuration: Path | None,
    ) -> dict[str, Any]:
        """Return the case as the harness reads it, for one workload and one profile."""
        one = {
            "name": CHOSEN,
            "labels": [CHOSEN],
            "params": {**workload["params"], **size},
            "featureGates": {**(workload.get("featureGates") or {}), **gates},
        }
        # Upstream's threshold is of upstream's machines; ours are ratios.
        made = {**self.content, "workloads": [one], "labels": []}
        if configuration:
            made["schedulerConfigPath"] = str(configuration)
        return made


def read_cases(harness: Path) -> Iterator[Case]:
    """Yield every case of the harness, topic by topic."""
    for file in sorted(harness.rglob(CASES_FILE)):
        topic = file.parent.relative_to(harness).as_posix()
        for content in yaml.safe_load(file.read_text(encoding="utf-8")):
            yield Case(topic, content)
