"""The command line, one file a command group."""

from testbed.cli.main import app, main

__all__ = ["app", "main"]
