"""Helm releases of Stowage's chart on a testbed cluster."""

from testbed.helm.install import install_release, uninstall_release
from testbed.helm.release import Release

__all__ = ["Release", "install_release", "uninstall_release"]
