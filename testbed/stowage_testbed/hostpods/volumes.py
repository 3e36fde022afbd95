"""A pod's volumes: one folder each, filled and kept up to date, and the mount paths that show them."""

import base64
import os
import shutil
import tempfile
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path

from stowage_testbed.hostpods.node import ApiServer, HostPodsError, LoopClock, Manifest

DEFAULT_LIFETIME_S = 3600
RENEW_AT = 0.8
"""A kubelet asks for a new token when 80 % of the old one's life has passed."""
DEFAULT_MODE = 0o644
TOKEN_MODE = 0o600
CURRENT = "..data"
READ_ONLY_FOLDER = 0o555


Payload = dict[str, tuple[bytes, int]]
"""Each file's bytes and permission bits, by its path inside the volume."""


class Volumes:
    """The volumes of one pod: in ``folder``, one folder a volume, named for it, which links below ``root`` show.

    There is no mount namespace on the host. So only mount paths below one folder of the cluster's work directory are
    allowed, and all containers of all host pods share them.
    """

    def __init__(self, folder: Path, root: Path, api: ApiServer, clock: LoopClock) -> None:
        self.folder, self.root = folder, root
        self._api = api
        self._clock = clock
        self._tokens: dict[str, tuple[bytes, datetime]] = {}
        """By path, each with the time at which it is renewed."""

    async def fill(self, pod: Manifest) -> None:
        """Write what has changed; a `HostPodsError` if something that a volume shows does not exist."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for volume in pod["spec"].get("volumes", ()):
            folder = self.folder / volume["name"]
            if "emptyDir" in volume:
                folder.mkdir(exist_ok=True)
                continue
            projected = volume.get("projected", {})
            mode = projected.get("defaultMode", DEFAULT_MODE)
            payload: Payload = {}
            for source in projected.get("sources", [volume]):
                if "configMap" in source:
                    payload |= await self._keys(pod, "ConfigMap", source["configMap"], mode)
                if "secret" in source:
                    payload |= await self._keys(pod, "Secret", source["secret"], mode)
                if "serviceAccountToken" in source:
                    payload |= await self._token(pod, source["serviceAccountToken"])
            write_atomically(folder, payload)

    async def _keys(self, pod: Manifest, kind: str, source: Manifest, default_mode: int) -> Payload:
        """Return all keys as files, or those that ``items`` names under its paths."""
        namespace = pod["metadata"]["namespace"]
        name = source.get("secretName") or source["name"]
        path = f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{name}"
        found = await self._api.call("GET", path, allowed={HTTPStatus.NOT_FOUND})
        if not found and not source.get("optional"):
            raise _not_ready(f"{kind} {namespace}/{name} does not exist; create it")
        encoded = found.get("data" if kind == "Secret" else "binaryData", {})
        data = {key: base64.b64decode(value) for key, value in encoded.items()}
        if kind == "ConfigMap":
            data |= {key: value.encode() for key, value in found.get("data", {}).items()}
        mode = source.get("defaultMode", default_mode)
        payload: Payload = {}
        for item in source.get("items") or ({"key": key, "path": key} for key in data):
            if item["key"] in data:
                payload[item["path"]] = (data[item["key"]], item.get("mode", mode))
            elif not source.get("optional"):
                raise _not_ready(f"{kind} {namespace}/{name} has no key {item['key']!r}; add it")
        return payload

    async def _token(self, pod: Manifest, source: Manifest) -> Payload:
        """Return a good token of the pod's service account as a file that only its owner can read."""
        path, now = str(source["path"]), self._clock.wall()
        held = self._tokens.get(path)
        if held is None or now >= held[1]:
            metadata = pod["metadata"]
            account = pod["spec"].get("serviceAccountName", "default")
            spec = {
                "audiences": [source["audience"]] if source.get("audience") else [],
                "expirationSeconds": source.get("expirationSeconds", DEFAULT_LIFETIME_S),
                # Good while the pod exists.
                "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]},
            }
            accounts = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts"
            status = (await self._api.call("POST", f"{accounts}/{account}/token", {"spec": spec}))["status"]
            granted_s = (datetime.fromisoformat(status["expirationTimestamp"]) - now).total_seconds()
            held = self._tokens[path] = (status["token"].encode(), now + timedelta(seconds=granted_s * RENEW_AT))
        return {path: (held[0], TOKEN_MODE)}

    def link(self, container: Manifest) -> None:
        """Make the container's mount paths show its volumes; a `HostPodsError` names a path that it cannot have."""
        for mount in container.get("volumeMounts", ()):
            path, target = Path(mount["mountPath"]), self.folder / mount["name"]
            if ".." in path.parts or self.root not in path.parents:
                raise HostPodsError(
                    "MountRefused",
                    f"mount path {path} does not lie under {self.root}; host pods can only show volumes there: set the "
                    "chart's paths to folders below it, and automountServiceAccountToken to false",
                )
            shown = path.readlink() if path.is_symlink() else None
            if shown == target:
                continue
            if shown and (shown.is_relative_to(self.folder) or not shown.exists()):
                path.unlink()
            if path.exists():
                raise HostPodsError(
                    "MountRefused",
                    f"mount path {path} is in use by {path.resolve()}; two host pods cannot mount at one path: wait "
                    "for the other to end, or choose another",
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)

    def unlink(self) -> None:
        """Remove the links that show this pod's volumes."""
        for link in self.root.rglob("*"):
            if link.is_symlink() and link.readlink().is_relative_to(self.folder):
                link.unlink()


def _not_ready(cause: str) -> HostPodsError:
    return HostPodsError("VolumeNotReady", f"{cause}, or mark the volume optional")


def write_atomically(folder: Path, payload: Payload) -> None:
    """Make the folder show exactly the payload, by one rename, unless it does already.

    The files live in a folder of their own that ``..data`` points to; what the reader opens are links through
    ``..data``. This is the layout that kubelets use, and that programs which watch their configuration know.
    """
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / CURRENT
    former = current.readlink() if current.is_symlink() else None
    if former is not None:
        shown = {str(one.relative_to(current)): one.read_bytes() for one in current.rglob("*") if one.is_file()}
        if shown == {path: data for path, (data, _) in payload.items()}:
            return
    version = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for path, (data, mode) in payload.items():
        file = version / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
    version.chmod(READ_ONLY_FOLDER)
    fresh = folder / f"{CURRENT}_tmp"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(version.name)
    fresh.rename(current)
    names = {path.split("/")[0] for path in payload}
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.name != CURRENT and entry.name not in names:
            entry.unlink()
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path(CURRENT) / name)
    if former is not None:
        remove_tree(folder / former)


def remove_tree(folder: Path) -> None:
    """Remove a folder and what is in it, read-only folders included."""
    if folder.exists():
        for parent, _, _ in os.walk(folder):
            Path(parent).chmod(0o700)
        shutil.rmtree(folder)
