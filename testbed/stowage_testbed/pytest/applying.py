"""Applying manifests for one test, in a namespace of its own."""

import re
import secrets
from pathlib import Path

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import DEFINITION
from stowage_testbed.api.manifests import Given, read_manifests
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.api.pod_templates import PodOverrides, change_pods, override_pod
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.pytest.environment import SessionEnvironment
from stowage_testbed.pytest.plain import plain

_LONGEST = 50
_NOBODYS = frozenset({None, "", "default-scheduler"})


class Applier:
    """Applies objects, and takes back what a sweep of namespaces would leave.

    Objects that name no namespace go into ``namespace``; relative paths begin in ``folder``.
    """

    def __init__(self, environment: SessionEnvironment, namespace: str, folder: Path) -> None:
        self._environment = environment
        self._objects = Objects(environment.api)
        self._namespace = namespace
        self._folder = folder
        self._outside: list[tuple[str, str, str]] = []

    @plain
    def __call__(self, *given: Given) -> list[Manifest]:
        """Apply manifests, and return the objects as the server has them.

        They are paths from the test's folder (of files, or folders of them), YAML text, and dicts. Objects without a
        namespace go into the test's own. Pods that name no scheduler get the one of `stowage_arm`.

        Raises
        ------
        StowageError
            They cannot be applied: no manifest, no file, or no kind of the cluster's.
        ApiRefusedError
            The server refuses one.
        """
        return [self._apply(manifest) for manifest in read_manifests(given, self._folder)]

    def take_back(self) -> None:
        """Delete what was made outside the test's namespace, the last first."""
        for kind, name, namespace in reversed(self._outside):
            self._objects.delete(kind, name, namespace=namespace)

    def _apply(self, manifest: Manifest) -> Manifest:
        kind, metadata = self._environment.kinds.of(manifest), dict(manifest["metadata"])
        if kind.namespaced:
            metadata.setdefault("namespace", self._namespace)
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        outside = name and namespace != self._namespace
        if outside and not self._objects.exists(kind.full_name, name, namespace=namespace):
            self._outside.append((kind.full_name, name, namespace))
        body = with_overrides_for({**manifest, "metadata": metadata}, self._environment.pod_overrides)
        made = self._objects.apply(body, manager="stowage-pytest")
        if kind.name == "Namespace":
            await_account(self._environment, metadata["name"])
        if kind.name == DEFINITION:
            self._objects.await_definition(metadata["name"], HANG_S)
        return made


def with_overrides_for(manifest: Manifest, pod_overrides: PodOverrides | None) -> Manifest:
    """Return an object whose pods have a scheduler's overrides; those that name a scheduler of their own keep it."""
    if pod_overrides is None:
        return manifest

    def overridden(pod: Manifest) -> Manifest:
        own = (pod.get("spec") or {}).get("schedulerName")
        return pod if own not in _NOBODYS else override_pod(pod, pod_overrides)

    return change_pods(manifest, overridden)


def fresh_namespace(environment: SessionEnvironment, test: str) -> str:
    """Make a namespace for a test, and return its name when it takes pods."""
    words = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")
    name = f"{words[:_LONGEST].strip('-') or 'test'}-{secrets.token_hex(2)}"
    Objects(environment.api).create(make_manifest("v1", "Namespace", name))
    await_account(environment, name)
    return name


def await_account(environment: SessionEnvironment, namespace: str) -> None:
    """Wait for a namespace's default account, without which it takes no pods."""
    objects = Objects(environment.api)
    wait_until(
        f"the default account of namespace {namespace}",
        lambda: objects.exists("ServiceAccount", "default", namespace=namespace),
        bool,
    )
