"""Messages between service, fork server and child."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from stowage_optimizer.service.settings import WorkerSettings

LONGEST_PACKET = 1024 * 64
"""Longest packet on the fork server's socket, in bytes."""

READY = b"ready"
"""The first message of a child."""

READ = b"read"
"""The message of a child that has read its request: its time limit begins."""


def opening_packet(settings: WorkerSettings) -> bytes:
    """Return the first packet, with the settings of the fork server's children."""
    return json.dumps({"path": sys.path, "settings": asdict(settings)}).encode()


def open_packet(packet: bytes) -> tuple[list[str], WorkerSettings]:
    """Return the module path and the settings of an opening packet."""
    opening = json.loads(packet)
    return opening["path"], WorkerSettings(**opening["settings"])
