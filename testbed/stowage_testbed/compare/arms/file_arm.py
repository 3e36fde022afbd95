"""A user's own arm, from an arm file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.compare.arms.account import KUBECONFIG, Rights
from stowage_testbed.compare.arms.file_rules import ArmFile, configuration_text, filled, rule_issues, used
from stowage_testbed.compare.arms.kube_scheduler import DEFAULT_LIMITS
from stowage_testbed.compare.arms.program import Program, digest, http_readiness
from stowage_testbed.compare.arms.serving import own_folder, serving
from stowage_testbed.run.arm import ArmSettings, ClientLimits, PodOverrides, RunningArm
from stowage_testbed.scenario.errors import Issue
from stowage_testbed.scenario.reading import read
from stowage_testbed.scenario.yaml_file import compose, read_node
from stowage_testbed.toolchain import choose_minor


@dataclass(frozen=True, slots=True)
class FileArm:
    """A scheduler that its file describes.

    ``binary`` is an executable file; ``declared`` are its settings, as the user declares them. Arguments, environment,
    configuration and ``ready`` have placeholders: see `stowage_testbed.compare.arms.file_rules`. The configuration is
    empty for a scheduler without a configuration file.
    """

    name: str
    binary: Path
    arguments: tuple[str, ...]
    ready: str
    pod_overrides: PodOverrides
    rights: Rights
    declared: ArmSettings
    configuration: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    minor: str = field(default_factory=choose_minor)

    @property
    def tools(self) -> tuple[str, ...]:
        """None: its program is the user's."""
        return ()

    def build(self) -> str:
        """Return a digest of the program and of all that its file says."""
        try:
            program = self.binary.read_bytes()
        except OSError as error:
            raise _unreadable(self.binary, str(error.strerror)) from error
        return digest([program, *self._texts(), repr(self.declared)])

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run, as far as its file says.

        Limits reach it only by their placeholders; without these it keeps its own.
        """
        if limits is None:
            return self.declared
        taken = used(self._texts())
        return replace(
            self.declared,
            qps=limits.qps if "qps" in taken else self.declared.qps,
            burst=limits.burst if "burst" in taken else self.declared.burst,
        )

    def running(
        self, cluster: Cluster, folder: Path, limits: ClientLimits | None
    ) -> AbstractContextManager[RunningArm]:
        """Start it and stop it at the end; on entry it serves."""
        folder = own_folder(folder)
        kubeconfig, config = folder / KUBECONFIG, folder / "configuration"
        run = self.settings(limits)
        values: dict[str, object] = {
            "kubeconfig": kubeconfig,
            "config": config,
            "folder": folder,
            "port": port_beside(cluster.name),
            "qps": f"{run.qps or DEFAULT_LIMITS.qps:g}",
            "burst": run.burst or DEFAULT_LIMITS.burst,
        }
        text = filled(self.configuration, values)
        config.write_text(text, "utf-8")
        environment = {name: filled(value, values) for name, value in self.environment.items()}
        program = Program(
            "scheduler",
            [str(self.binary), *(filled(word, values) for word in self.arguments)],
            {"KUBECONFIG": str(kubeconfig), **environment},
            partial(http_readiness, filled(self.ready, values)),
        )
        return serving(self.name, cluster, folder, self.rights, programs=[program], configuration=text)

    def _texts(self) -> list[str]:
        return [*self.arguments, *self.environment.values(), self.configuration]


def load_arm_file(path: Path) -> FileArm:
    """Return the scheduler that a file describes; an `InputError` has each issue with line, column and the way out."""
    # Programs run in folders of their own.
    folder = path.resolve().parent
    try:
        root, issues = compose(path, "")
    except StowageError as error:
        raise InputError(f"{error}; it should be an arm file") from error
    if root is None:
        raise _issues_error(issues)
    document = read_node(path, root)
    file, found = read(ArmFile, document, "the arm file")
    data = document.data if isinstance(document.data, Mapping) else {}
    rules = rule_issues(data, folder)
    issues += [*found, *(document.issue(place, message, of_key=of_key) for place, message, of_key in rules)]
    if file is None or issues:
        raise _issues_error(issues)
    return _arm(file, configuration_text(data, folder) or "", folder)


def _unreadable(path: Path, cause: str) -> InputError:
    return InputError(f"cannot read the arm file {path}: {cause}")


def _issues_error(issues: Collection[Issue]) -> InputError:
    found = sorted(set(issues))
    noun = "issue" if len(found) == 1 else "issues"
    lines = "\n".join(f"  {issue}" for issue in found)
    return InputError(f"{len(found)} {noun} in the arm file:\n{lines}")


def _arm(file: ArmFile, configuration: str, folder: Path) -> FileArm:
    declared = file.settings
    rules = [{key: list(value) for key, value in asdict(one).items() if value is not None} for one in file.rules]
    return FileArm(
        name=file.name,
        binary=folder / file.binary,
        arguments=file.arguments,
        ready=file.ready,
        pod_overrides=PodOverrides(file.schedulerName, file.labels, file.annotations),
        rights=Rights(file.clusterRoles, tuple(rules)),
        declared=ArmSettings(
            version=declared.version,
            qps=declared.qps,
            burst=declared.burst,
            parallelism=declared.parallelism,
            sampled_percent=declared.sampledPercent,
            feature_gates=declared.featureGates,
            webhooks=declared.webhooks,
            notes=("its settings are as its file declares them",),
        ),
        configuration=configuration,
        environment=file.environment,
    )
