"""What the build of kind's node is given beyond its folder: images of programs."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from stowage_testbed.images.program_archive import write_program_archive
from stowage_testbed.images.recipe import NODE_TOOLS
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.manifest import load_manifest

# What kubeadm 1.36 asks for: `kubeadm config images list`.
_REGISTRY = "registry.k8s.io"
_ETCD = "etcd:3.6.8-0"
_PAUSE = "pause:3.10.2"
_PAUSE_PROGRAM = "./usr/bin/catatonit"


def add_node_images(context: Path) -> None:
    """Write the images that the node's containerd shall have, and the version."""
    version = load_manifest().tool("kubelet").version
    (context / "version").write_text(f"{version}\n", encoding="utf-8")
    folder = context / "images"
    folder.mkdir()
    for tool in NODE_TOOLS:
        image = _ETCD if tool == "etcd" else f"{tool}:{version}"
        reference = f"{_REGISTRY}/{image}"
        write_program_archive(folder / f"{tool}.tar", reference, tool_path(tool))


def add_pause_image(context: Path) -> None:
    """Write the image of every pod's first process, from the node's own packages."""
    with tarfile.open(context / "root.tar") as root:
        member = root.extractfile(_PAUSE_PROGRAM)
        assert member is not None  # noqa: S101 - the package is among those of the build
        program = context / "pause"
        with program.open("wb") as file:
            shutil.copyfileobj(member, file)
    command = ["/usr/local/bin/pause", "-P"]
    target = context / "images" / "pause.tar"
    write_program_archive(target, f"{_REGISTRY}/{_PAUSE}", program, command)
