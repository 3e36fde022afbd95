"""Helm releases of Stowage's chart on a testbed cluster."""

from stowage_testbed.helm.install import install_release, uninstall_release
from stowage_testbed.helm.release import Release

__all__ = ["Release", "install_release", "uninstall_release"]
