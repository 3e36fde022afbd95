"""The page of the command line, from the two programs themselves."""

from __future__ import annotations

import argparse
import enum
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
from typer.core import TyperCommand, TyperGroup

from docs.tooling.markdown import code, page, plain, table
from stowage_optimizer.cli import COMMANDS
from stowage_testbed.cli import app

NOTE = """\
This page is generated from the programs. `stowage COMMAND --help` prints the same.

A command ends with exit code 0 if all went well. [Results and exit
codes](results-and-exit-codes.md) has the others.
"""
Row = tuple[str, str, str]


class _CapturedError(Exception):
    """Carries a parser out of the command that made it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser
        super().__init__(parser.prog)


def command_line_page() -> str:
    """Return the page."""
    parts = ["## stowage\n", *(_section(*one) for one in stowage_commands())]
    parts.append("## stowage-optimizer\n")
    parts += [_optimizer_section(name) for name in COMMANDS]
    return page("Command line", NOTE, *parts)


def stowage_commands() -> list[tuple[str, TyperCommand]]:
    """Return every command of `stowage` by its whole name, sorted."""
    return sorted(_walk("stowage", typer.main.get_command(app)))


def optimizer_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command of `stowage-optimizer`.

    A command makes its parser when it runs, so it is run up to there.
    """
    with _capturing():
        try:
            import_module(f"stowage_optimizer.cli.{name}").run([])
        except _CapturedError as captured:
            return captured.parser
    raise ValueError(f"stowage-optimizer {name} parses no arguments")


def _walk(name: str, command: Any) -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperGroup):
        for word, inner in command.commands.items():
            yield from _walk(f"{name} {word}", inner)
    elif not command.hidden:
        yield name, command


def _section(name: str, command: TyperCommand) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    words = [name, *(_argument(one) for one in arguments)]
    if options:
        words.insert(1, "[OPTIONS]")
    rows = [_row(code(_argument(one)), one) for one in arguments]
    rows += [_row(_option(one), one) for one in options]
    text = plain(command.help or "")
    return f"### {name}\n\n    {' '.join(words)}\n\n{text}\n\n{_table(rows)}"


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if not parameter.is_flag:
        names = [f"{name} {parameter.metavar or _kind(parameter)}" for name in names]
    return ", ".join(code(name) for name in names)


def _row(shown: str, parameter: Any) -> Row:
    words = parameter.help or ""
    if choices := _choices(parameter):
        words += f" One of {', '.join(code(one) for one in choices)}."
    if parameter.multiple:
        words += " May be given more than once."
    return shown, _default(parameter), words.strip()


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if value is None or value == "" or isinstance(value, list | tuple):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return code(value.value if isinstance(value, enum.Enum) else value)


def _bare(parameter: Any) -> Any:
    annotation = parameter.type_descriptor.annotation
    inner = typing.get_args(annotation)
    return inner[0] if inner else annotation


def _choices(parameter: Any) -> list[str]:
    kind = _bare(parameter)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(one.value) for one in kind]
    return []


def _kind(parameter: Any) -> str:
    kind = _bare(parameter)
    if _choices(parameter):
        return "NAME"
    return {int: "N", float: "NUMBER", Path: "PATH"}.get(kind, "TEXT")


def _optimizer_section(name: str) -> str:
    parser = optimizer_parser(name)
    rows = [
        _optimizer_row(action)
        for action in parser._actions  # argparse has no other way
        if not isinstance(action, argparse._HelpAction)
    ]
    text = plain(parser.description or "")
    usage = " ".join(parser.format_usage().split()).removeprefix("usage: ")
    head = f"### stowage-optimizer {name}\n\n    {usage}\n\n{text}\n\n"
    return head + _table(rows)


def _optimizer_row(action: argparse.Action) -> Row:
    names = [*action.option_strings] or [str(action.metavar or action.dest.upper())]
    words = (action.help or "") % {"default": action.default}
    if action.choices:
        words += f" One of {', '.join(code(one) for one in action.choices)}."
    if action.required:
        default = "required"
    elif isinstance(action.default, bool):
        default = "on" if action.default else "off"
    else:
        default = "" if action.default is None else code(action.default)
    return ", ".join(code(name) for name in names), default, words


def _table(rows: list[Row]) -> str:
    return table(("argument or option", "default", "meaning"), rows)


@contextmanager
def _capturing() -> Iterator[None]:
    def capture(parser: argparse.ArgumentParser, *_: object) -> None:
        raise _CapturedError(parser)

    with patch.object(argparse.ArgumentParser, "parse_args", capture):
        yield
