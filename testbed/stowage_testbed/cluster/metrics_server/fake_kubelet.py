"""KWOK's answer to a scrape, and the reading of its meters."""

from __future__ import annotations

import http.client
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.components import METRICS_SERVER
from stowage_testbed.cluster.node_pool import metrics_path
from stowage_testbed.cluster.owner import read_owner


@dataclass(frozen=True, slots=True)
class FakeKubelet:
    """The kubelets of all fake nodes of one cluster: KWOK.

    KWOK adds up CPU seconds only when it is asked, and then as if the usage of that moment had lasted since it was
    asked before. Whoever changes the usage therefore reads the meters first, so that what was used until then is booked
    as it was.
    """

    probe: ApiProbe

    @classmethod
    def of(cls, workdir: Path) -> FakeKubelet:
        """Return the fake kubelets of the cluster in ``workdir``."""
        owner = read_owner(workdir)
        if owner is None or not (workdir / METRICS_SERVER).is_dir():
            raise StowageError(
                f"cluster {workdir.name!r} measures no usage; bring one up that does with: stowage up NAME --metrics"
            )
        return cls(ApiProbe.of(workdir, owner.ports.kwok_controller))

    def read_meters(self, nodes: Iterable[str]) -> None:
        """Scrape these nodes, so that their usage until now is booked."""
        for node in nodes:
            try:
                status, body = self.probe.get(metrics_path(node))
            except (OSError, http.client.HTTPException) as error:
                raise _no_reading(node, str(error)) from error
            if status != http.HTTPStatus.OK:
                raise _no_reading(node, f"{status} {body.strip()[:200]}")


def _no_reading(node: str, answer: str) -> StowageError:
    return StowageError(
        f"the fake kubelet of node {node!r} gave no reading ({answer}); "
        "see logs/kwok-controller.log in the cluster's folder"
    )
