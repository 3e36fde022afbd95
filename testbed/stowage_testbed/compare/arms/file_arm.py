"""A user's own arm, from an arm file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.compare.arm_file.load import ArmFile, unreadable
from stowage_testbed.compare.arm_file.rules import filled, used
from stowage_testbed.compare.arms.account import account
from stowage_testbed.compare.arms.build import digest
from stowage_testbed.compare.arms.kube_scheduler import DEFAULT_LIMITS
from stowage_testbed.compare.arms.program import Program, http_readiness
from stowage_testbed.compare.arms.serving import own_folder, serving
from stowage_testbed.run.arm import (
    ArmSettings,
    ClientLimits,
    PodOverrides,
    RunningArm,
)


@dataclass(frozen=True, slots=True)
class FileArm:
    """A scheduler that its file describes."""

    file: ArmFile

    @property
    def name(self) -> str:
        """The word for it in tables and on the command line."""
        return self.file.name

    @property
    def pod_overrides(self) -> PodOverrides:
        """What it changes in every pod."""
        return self.file.pod_overrides

    def build(self) -> str:
        """Return a digest of the program and of all that its file says.

        Raises
        ------
        InputError
            The program cannot be read.
        """
        try:
            program = self.file.binary.read_bytes()
        except OSError as error:
            raise unreadable(self.file.binary, str(error.strerror)) from error
        return digest([program, *self._texts(), repr(self.file.settings)])

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run, as far as its file says.

        Limits reach it only by their placeholders; without these it keeps its own.
        """
        declared = self.file.settings
        if limits is None:
            return declared
        taken = used(self._texts())
        return replace(
            declared,
            qps=limits.qps if "qps" in taken else declared.qps,
            burst=limits.burst if "burst" in taken else declared.burst,
        )

    @contextmanager
    def running(
        self, cluster: Cluster, folder: Path, limits: ClientLimits | None
    ) -> Iterator[RunningArm]:
        """Start it and stop it at the end; on entry it serves."""
        folder = own_folder(folder)
        kubeconfig, config = folder / "kubeconfig.yaml", folder / "configuration"
        run = self.settings(limits)
        values: dict[str, object] = {
            "kubeconfig": kubeconfig,
            "config": config,
            "folder": folder,
            "port": port_beside(cluster.name),
            "qps": f"{run.qps or DEFAULT_LIMITS.qps:g}",
            "burst": run.burst or DEFAULT_LIMITS.burst,
        }
        text = filled(self.file.configuration or "", values)
        config.write_text(text, "utf-8")
        environment = {
            name: filled(value, values) for name, value in self.file.environment.items()
        }
        program = Program(
            "scheduler",
            [
                str(self.file.binary),
                *(filled(word, values) for word in self.file.arguments),
            ],
            {"KUBECONFIG": str(kubeconfig), **environment},
            partial(http_readiness, filled(self.file.ready, values)),
        )
        with ExitStack() as stack:
            stack.enter_context(
                account(cluster, self.name, self.file.rights, kubeconfig)
            )
            yield stack.enter_context(
                serving(self.name, cluster, folder, [program], text)
            )

    def _texts(self) -> list[str]:
        file = self.file
        texts = [*file.arguments, *file.environment.values()]
        return [*texts, file.configuration or ""]
