"""The release that serves on a cluster, and whether the next scenario may keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.helm import Release
from stowage_testbed.helm.serving import serves

Sign = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a release is asked to be: a profile, and where it differs from the chart."""

    profile: str
    optimizer_enabled: bool
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Serving:
    """The release as it serves with one profile.

    Attributes
    ----------
    scheduler_config
        The scheduler's whole configuration, as it reads it.
    kept
        It has served the scenario before this one.
    """

    release: Release
    wanted: Wanted
    scheduler_config: str
    kept: bool = False

    @property
    def profile(self) -> str:
        """The profile it serves with."""
        return self.wanted.profile

    @property
    def values(self) -> Mapping[str, object]:
        """What it was asked to differ in from the chart's defaults."""
        wanted = self.wanted
        return {"profile": wanted.profile, "optimizer": {"enabled": wanted.optimizer_enabled}, **wanted.values}


@dataclass(slots=True)
class LastRelease:
    """The release that was installed last, for the next scenario that wants the same.

    It counts as the same only while nobody has changed it: Deployment, configuration
    and pod are those that were installed, and no container has been started again.
    """

    _serving: Serving | None = None
    _sign: Sign = ()

    def note(self, serving: Serving, objects: Objects) -> None:
        """Note that it has been installed."""
        self._serving, self._sign = serving, _sign_of(serving.release, objects)

    def forget(self) -> None:
        """Have the next scenario install its release, whatever it wants."""
        self._serving = None

    def find(self, wanted: Wanted, objects: Objects) -> Serving | None:
        """Return it if it is what is wanted, and as it was installed."""
        serving = self._serving
        if serving is None or serving.wanted != wanted:
            return None
        return serving if _sign_of(serving.release, objects) == self._sign else None


def _sign_of(release: Release, objects: Objects) -> Sign:
    """Return what shows whether a release was changed, or does not serve."""

    def of_release(kind: str) -> list[Manifest]:
        found = objects.list_all(kind, release.namespace)
        return [one for one in found if _belongs(one, release.name)]

    return (
        [(one["spec"], serves(one)) for one in of_release("Deployment")],
        [one.get("data") for one in of_release("ConfigMap")],
        [_sign_of_pod(one) for one in of_release("Pod")],
    )


def _belongs(manifest: Manifest, release: str) -> bool:
    labels = manifest["metadata"].get("labels") or {}
    return bool(labels.get("app.kubernetes.io/instance") == release)


def _sign_of_pod(pod: Manifest) -> Sign:
    metadata = pod["metadata"]
    containers = pod["status"].get("containerStatuses") or ()
    return (
        metadata["uid"],
        metadata.get("deletionTimestamp"),
        [(one["name"], one["ready"], one["restartCount"]) for one in containers],
    )
