"""Pages that load nothing from anywhere, and let nothing run but what is in them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


def policy_hash(content: str) -> str:
    """Return what a content security policy names the one allowed content by."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def templates_of(package: str) -> Environment:
    """Return the templates in the folder ``assets`` of a package."""
    return Environment(
        loader=PackageLoader(package, "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
