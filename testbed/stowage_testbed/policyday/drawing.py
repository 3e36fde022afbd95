"""What made days are drawn with: a rhythm of day and night, and plain templates."""

from __future__ import annotations

import math
import random

from stowage_testbed.trace.format import PodTemplate, Template

DAY_S = 86_400.0

SWING = 0.5
"""By how much of its mean the load goes up by day and down by night."""


def load_at(part: float) -> float:
    """Return the load at a part of the day, its mean being 1: lowest at midnight."""
    return 1 - SWING * math.cos(2 * math.pi * part)


def draw_time(draw: random.Random) -> float:
    """Return a part of the day, the likeliest in its middle."""
    while True:
        part = draw.random()
        if draw.random() * (1 + SWING) <= load_at(part):
            return part


def make_template(name: str, cpu_milli: int, memory_mib: int, priority: int = 0) -> Template:
    """Return a template of pods with one container, labelled with its name."""
    requests = {"cpu": f"{cpu_milli}m", "memory": f"{memory_mib}Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec = {"priority": priority, "containers": [container]}
    return Template(t=0.0, id=name, template=PodTemplate({"app": name}, {}, spec))
