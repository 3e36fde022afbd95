"""Structured logs: one JSON object a line, the snapshot id in each."""

import json
import logging
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("stowage.optimizer")
LOGGER.addHandler(logging.NullHandler())


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return ``record`` as JSON with time, level, message and its fields."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class _Fields(logging.LoggerAdapter[logging.Logger]):
    """Puts its own fields, and those of each call, into the record."""

    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[object, MutableMapping[str, Any]]:
        fields = {**(self.extra or {}), **kwargs.pop("extra", {})}
        return msg, {**kwargs, "extra": {"fields": fields}}


def logger_of(snapshot_id: str) -> logging.LoggerAdapter[logging.Logger]:
    """Return a logger whose every line names the snapshot."""
    return _Fields(LOGGER, {"snapshot": snapshot_id})


def configure_logging() -> None:
    """Send this package's logs to standard error as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
