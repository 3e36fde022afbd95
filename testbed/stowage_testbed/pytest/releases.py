"""The chart's release in a session of pytest: it stays, and gives way to an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.pytest.sweeping import RELEASE_NAMESPACE

NAME = "stowage"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the release was asked to be."""

    profile: str
    optimizer_enabled: bool
    values: Mapping[str, object] = field(default_factory=dict)


class Releases:
    """Puts the release on the cluster, and takes it off for others.

    The cluster is ``owned`` if it is the session's own, with all that is on it.
    """

    def __init__(self, cluster: Cluster, *, owned: bool) -> None:
        self._cluster = cluster
        self._owned = owned
        self._wanted: Wanted | None = None
        self._changed = False

    @property
    def optimizes(self) -> bool:
        """Whether the release that the tests asked for has the optimiser beside it."""
        return self._wanted is not None and self._wanted.optimizer_enabled

    def install(self, wanted: Wanted) -> Release:
        """Install the release or change it, and return when it serves."""
        release = install_release(
            self._cluster, profile=wanted.profile, optimizer_enabled=wanted.optimizer_enabled, values=wanted.values
        )
        self._wanted, self._changed = wanted, False
        return release

    def changed(self) -> None:
        """Note that the release was changed from outside."""
        self._changed = True

    def restore(self) -> None:
        """Bring the release back as it was asked for, if others changed it."""
        if self._changed and self._wanted is not None:
            self.install(self._wanted)

    def set_aside(self) -> None:
        """Remove the release until it is wanted again: two schedulers would conflict.

        A release that the session did not install stays.
        """
        if not self._owned and self._wanted is None:
            return
        with self._cluster.api_client() as api:
            there = Objects(api).list_all("Deployment", RELEASE_NAMESPACE)
        if there:
            self._remove()
            self._changed = True

    def end(self) -> None:
        """Leave no release on a cluster that is not the session's own."""
        if not self._owned and self._wanted is not None:
            self._remove()

    def _remove(self) -> None:
        uninstall_release(Release(self._cluster, NAME, RELEASE_NAMESPACE))
