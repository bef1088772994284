"""The `flowx` command. Only click and the standard library are imported before a verb is known."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from flowx_cli import exits

VERSION = "0.1.0"

_COMMANDS = {
    "build": "Check, and compile every flow to its plan, the catalogue and the manifest.",
    "cancel": "Stop an instance and undo what it has done.",
    "check": "Check only: diagnostics, nothing written, no configuration needed.",
    "completion": "Print what makes a shell complete flowx: bash, zsh or fish.",
    "db": "The database: bring its schema up to date, say how it stands, remove what is old.",
    "demo": "Build an example and watch it run on an embedded PostgreSQL.",
    "diff": "What changed in the contract between two manifests, and whether it breaks anybody.",
    "explain": "Why a rule is there, what it refuses, what to write instead.",
    "graph": "Draw a flow, or the path of an instance through it.",
    "init": "Begin a project: one flow, its capabilities, one test.",
    "inspect": "Show everything about one instance, and why it is stuck if it is.",
    "pause": "Have no node begin or go on with a flow, an instance or everything.",
    "ps": "List instances: their state, what they wait for, why they failed.",
    "replay": "Walk an instance's history again and say where today's code leaves it.",
    "resume": "Go on with an instance now, if nobody else does.",
    "retry": "Try failed undos again, or make a step's next attempt now.",
    "run": "Run one built flow and print its outcome and history.",
    "signal": "Deliver a signal to an instance.",
    "verify": "Find durable flows that use nothing of being durable.",
    "unpause": "Take a pause back: nodes go on at once.",
    "worker": "Be a node: wake, recover, schedule and publish, until SIGTERM.",
}
"""Help lines by verb, so that `--help` imports no verb. A test holds them to the modules of `commands`."""


class Verbs(click.Group):
    """Imports a verb's module when the verb is called, or its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"flowx_cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in self.list_commands(ctx)])


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="flowx", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def flowx(debug: bool) -> None:
    """Durable workflows in typed Python, compiled ahead of time, on PostgreSQL."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error is one sentence and a way out."""
    given = sys.argv[1:] if arguments is None else arguments
    _speak_utf8()
    try:
        flowx.main(args=given, prog_name="flowx", standalone_mode=False)
    except click.exceptions.Exit as ended:
        raise SystemExit(ended.exit_code) from None
    except click.ClickException as wrong:
        wrong.show()
        raise SystemExit(exits.COMMAND_WAS_WRONG) from None
    except click.Abort:
        raise SystemExit(130) from None
    except SystemExit as ended:
        if "PacifyFlushWrapper" in type(sys.stdout).__name__:  # click's mark that the reader has seen enough
            raise SystemExit(exits.READER_LEFT) from None
        raise ended from None
    except BrokenPipeError:
        # Likewise; Python would complain again when it flushes.
        sys.stderr.close()
        raise SystemExit(exits.READER_LEFT) from None
    except OSError as error:
        if "--debug" in given:
            raise
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"flowx: {where}{error.strerror or error}", err=True)
        raise SystemExit(exits.COMMAND_WAS_WRONG) from None
    except Exception as error:  # the last line of defence: a person reads a sentence, not a traceback
        if "--debug" in given:
            raise
        raise SystemExit(_explain(error)) from None


def _explain(error: Exception) -> int:
    click.echo(f"flowx: {error or type(error).__name__}", err=True)
    code = getattr(error, "code", "")
    kind = type(error).__name__
    if kind == "UsageProblem":
        return exits.COMMAND_WAS_WRONG
    if code == "journal.unavailable":
        return exits.STORE_UNREACHABLE
    if code in (
        "flow.unknown",
        "flow.unknown_instance",
        "flow.unknown_signal",
        "flow.not_paused",
        "project.not_runnable",
    ):
        return exits.NOT_THERE
    if not code:
        click.echo("flowx: this is a defect; `flowx --debug …` shows where", err=True)
    return exits.COMMAND_WAS_WRONG


def _speak_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
