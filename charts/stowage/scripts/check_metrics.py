"""Asks a scheduler for its health, and for its metrics as Prometheus would.

``helm test`` runs this in the optimiser's image: ``check_metrics.py URL TOKEN_FILE
METRIC...``. It ends with 1 and the reason if something is not as it should be; the pod
is then tried again for a while, since names and rights that were just made take time.
"""

from __future__ import annotations

import ssl
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path


def main(url: str, token_file: str, *metrics: str) -> str | None:
    """Return what is wrong, or None."""
    token = Path(token_file).read_text("utf-8").strip()
    code, said = _get(f"{url}/readyz", None)
    if code != HTTPStatus.OK:
        return f"/readyz: {code:d} {said[:500]}; see the log of the container scheduler"
    code, said = _get(f"{url}/metrics", None)
    if code not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return f"/metrics without a token: {code:d}, but it must refuse strangers"
    code, said = _get(f"{url}/metrics", token)
    if code != HTTPStatus.OK:
        return f"/metrics with a token: {code:d} {said[:500]}; may the account read it?"
    served = {line.split()[2] for line in said.splitlines() if line[:6] == "# TYPE"}
    missing = [name for name in metrics if name not in served]
    return f"/metrics lacks {', '.join(missing)}" if missing else None


def _get(url: str, token: str | None) -> tuple[int, str]:
    """Return the status, 0 if there was no answer, and the body or the reason."""
    # The scheduler's certificate may be one of its own making, which nobody can verify.
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the chart's own
    try:
        with urllib.request.urlopen(  # noqa: S310 - the same
            request, timeout=10, context=unverified
        ) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError as error:
        return 0, str(error)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
