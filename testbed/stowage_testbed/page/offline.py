"""Pages that load nothing from anywhere, and let nothing run but what is in them.

A page is a template, a style and scripts in its folder of ``assets``. What that does not hold is taken from ``assets``
itself: the frame that every page extends, its colours and tables, and the scripts that draw nodes as bars.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

ASSETS = files("stowage_testbed.page") / "assets"
STYLES = ("base.css", "page.css")
TEMPLATES = Environment(
    loader=PackageLoader("stowage_testbed.page", "assets"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

BARS = ("dom.js", "axis.js", "moment.js", "bars.js", "node.js")
"""Scripts that draw nodes as bars, in the order in which they need each other."""


def offline_page(
    folder: str,
    /,
    *,
    scripts: Sequence[str] = (),
    data: object = None,
    images: bool = False,
    connects: bool = False,
    **values: object,
) -> str:
    """Return the page of a folder of assets, which has its ``page.html.j2`` and ``page.css``, as HTML.

    ``scripts`` are in the order in which they need each other; they read ``data`` as JSON from the element ``data``.
    The template shows ``values``. A page may have ``images`` in itself, as ``data:`` addresses; one that ``connects``
    asks the server that it came from for more.
    """
    style = "\n".join(_read_asset(folder, file) for file in STYLES)
    parts = "\n".join(_read_asset(folder, file) for file in scripts)
    script = f'"use strict";\n(() => {{\n{parts}\n}})();\n' if scripts else ""
    policy = [
        "default-src 'none'",
        f"style-src '{_policy_hash(style)}'",
        *([f"script-src '{_policy_hash(script)}'"] if scripts else []),
        *(["img-src data:"] if images else []),
        *(["connect-src 'self'"] if connects else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    # A name could end the script element otherwise; JSON means the same either way.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return TEMPLATES.get_template(f"{folder}/page.html.j2").render(
        policy="; ".join(policy),
        style=Markup(style),  # noqa: S704 - files of these packages
        script=Markup(script),  # noqa: S704 - files of these packages
        data=Markup(text),  # noqa: S704 - no "<" is left in it
        **values,
    )


def _read_asset(folder: str, file: str) -> str:
    own = ASSETS / folder / file
    return (own if own.is_file() else ASSETS / file).read_text(encoding="utf-8")


def _policy_hash(content: str) -> str:
    """Return what a content security policy names the one allowed content by."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
