"""The pinned tools: etcd, the Kubernetes control plane, KWOK, Helm and our own."""

from stowage_testbed.toolchain.install import install_tools
from stowage_testbed.toolchain.location import ToolMissingError, tool_build, tool_data, tool_path
from stowage_testbed.toolchain.manifest import choose_minor

__all__ = ["ToolMissingError", "choose_minor", "install_tools", "tool_build", "tool_data", "tool_path"]
