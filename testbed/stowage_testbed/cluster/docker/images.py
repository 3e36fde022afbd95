"""Images of the control plane, made of the tools' own binaries.

So no registry is asked, and all backends run the very same programs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
)
from stowage_testbed.docker.engine import docker, image_id
from stowage_testbed.images.program_archive import FOLDER, write_program_archive
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import load_manifest

_TOOLS = {
    ETCD: "etcd",
    API_SERVER: "kube-apiserver",
    CONTROLLER_MANAGER: "kube-controller-manager",
    KWOK: "kwok",
}
# kwokctl names the command of all but this one.
_ENTRYPOINTS = {KWOK: [f"/{FOLDER}/kwok"]}


def control_plane_images() -> Mapping[str, str]:
    """Return each component's image, made now if the engine lacks it.

    Raises
    ------
    ToolMissingError
        A tool is not installed.
    DockerError
        The engine is away, or refuses an image.
    """
    return {component: _image(component, tool) for component, tool in _TOOLS.items()}


def _image(component: str, name: str) -> str:
    tool = load_manifest().tool(name)
    reference = f"stowage/{name}:{tool.version}-{tool_key(tool)}"
    if not image_id(reference):
        with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
            program = tool_path(name)
            entry = _ENTRYPOINTS.get(component, ())
            write_program_archive(Path(archive.name), reference, program, entry)
            docker("load", "--quiet", "--input", archive.name)
    return reference
