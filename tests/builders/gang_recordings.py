"""The recordings of gangs: small snapshots with the right answers, made by hand."""

from dataclasses import dataclass
from pathlib import Path

import yaml
from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb

FOLDER = Path(__file__).parents[1] / "recordings" / "gangs"


@dataclass(frozen=True, slots=True)
class GangRecording:
    """One of the recordings.

    Parameters
    ----------
    tiers
        Of the best plan: priority, pods placed, disruption.
    plan, broken
        Node of each pod that a best plan changes, and a plan that breaks a gang.
    """

    name: str
    snapshot: pb.Snapshot
    tiers: tuple[tuple[int, int, int], ...]
    plan: dict[str, str]
    broken: tuple[dict[str, str], ...]


def _read(path: Path) -> GangRecording:
    content = yaml.safe_load(path.read_text("utf-8"))
    tiers = tuple((one["priority"], one["placed"], one["disruption"]) for one in content["tiers"])
    snapshot = ParseDict(content["snapshot"], pb.Snapshot())
    return GangRecording(path.stem, snapshot, tiers, content["plan"], tuple(content["broken"]))


RECORDINGS = tuple(_read(path) for path in sorted(FOLDER.glob("*.yaml")))
