"""The command `injector`, also called `kubectl inject`: finds the command asked for and turns errors into sentences."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from keyword import iskeyword
from pathlib import Path
from typing import Any

import click

from injector import __version__
from injector.errors import InjectorError

#: Commands by whom they are for, with what `--help` says of each. The module of a command, of the same name (with a `_`
#: where that is a keyword, or for a `-`), is imported only when it is used.
_SECTIONS = {
    "Manifests": {
        "inject": "Put sidecars into the pods of manifests.",
        "uninject": "Take the sidecars out of manifests again.",
        "check-manifests": "Check manifests against the policies in the settings.",
        "explain": "Explain why a pod has or does not have a sidecar.",
    },
    "Templates": {
        "new": "Create a template: a folder without lint findings, with its first test.",
        "render": "Show how a template changes a pod.",
        "lint": "Find mistakes in templates before a pod does.",
        "test": "Run the cases of templates.",
        "docs": "Write the reference of a template's parameters.",
        "workbench": "Write a template in the browser, with what it makes of a pod beside it.",
        "images": "List the images that templates use.",
        "lsp": "Run the language server, for editors.",
        "import": "Make templates out of another injector's sidecar configs.",
    },
    "Cluster": {
        "check": "Check whether the injector of a cluster works, and say what to do if it does not.",
        "list": "List pods with their sidecars: current, outdated, failed, missing.",
        "templates": "List the injector's templates: version, age, state, and who uses them.",
        "rollout": "Give workloads new pods, slowly, so that these have the current sidecars.",
        "pause": "Switch the injector off, without uninstalling it.",
        "resume": "Switch it on again.",
    },
    "Webhook": {
        "serve": "Run the admission webhook.",
        "guard": "Prevent later changes to the sidecars in required namespaces.",
        "certs": "Make a certificate for the webhook.",
        "demo": "Show an injection and a request through its sidecar, without a cluster.",
    },
}
#: Every command, with what `--help` says of it.
COMMANDS = {name: summary for commands in _SECTIONS.values() for name, summary in commands.items()}


#: A command makes many objects that it keeps to its end, and few that refer to themselves: with Python's own thresholds
#: the collector looks at them all again and again.
_GC_THRESHOLDS = (300_000, 20, 20)


class _Commands(click.Group):
    """The commands, each imported when it is called: `injector --help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        command = getattr(importlib.import_module(f"injector.cli.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command asked for; of one that there is not, what to type in its place."""
        name = args[0] if args else ""
        if name and name not in COMMANDS and not name.startswith("-"):
            from injector.advice.commands import command_help

            ctx.fail(f"No such command {name}; {command_help(name, list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="injector")
def cli() -> None:
    """Put templated sidecars into Kubernetes pods.

    The injector works as an admission webhook (serve), or on manifest files (inject, uninject, explain). Sidecars come
    from templates: those in the gallery, or your own (new, render, lint, test, docs, import).
    """


def main(args: list[str] | None = None) -> int:
    """Run the command line and exit: 0 done, 1 refused or found problems, 2 wrong usage.

    No traceback reaches a user; with INJECTOR_DEBUG set it does, for those who look for the cause.
    """
    gc.set_threshold(*_GC_THRESHOLDS)
    atexit.register(gc.freeze)  # or it looks at all of them once more at the very end, to give back what goes anyway
    args = list(sys.argv[1:] if args is None else args)
    program = _program()
    if program == "kubectl inject" and args and args[0] not in (*COMMANDS, "-h", "--help", "--version"):
        args.insert(0, "inject")  # `kubectl inject web.yaml` is what the name promises
    try:
        colour = False if os.environ.get("NO_COLOR") else None  # https://no-color.org; None: as the stream is
        result: Any = cli.main(args, prog_name=program, standalone_mode=False, color=colour)
        if sys.stdout is not None:  # closed: `>&-`
            sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)
    except click.ClickException as error:
        _with_help(error).show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (`head`) has seen enough. Nothing may be left for the interpreter to flush into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("INJECTOR_DEBUG"):
            raise
        text = (
            f"Error: internal error of the injector: {type(error).__name__}: {error}. This is a bug, please report "
            "it. To see where it occurred, set INJECTOR_DEBUG=1 in the environment."
        )
        if isinstance(error, InjectorError):
            # Imported here: `--help` is quick.
            from injector.authoring.diagnostic_formats import error_text

            text = error_text(error)
        click.echo(text, err=True)
        sys.exit(1)


def _with_help(error: click.ClickException) -> click.ClickException:
    """The error of an option that there is not: what to type."""
    from injector.advice.commands import option_words

    if isinstance(error, click.NoSuchOption) and (to_do := option_words(error)):
        return click.NoSuchOption(error.option_name, to_do, ctx=error.ctx)
    return error


def _program() -> str:
    """The name that it was called by, as a person typed it."""
    name = Path(sys.argv[0]).name
    if name == "__main__.py":
        return "python -m injector"
    return "kubectl inject" if name.startswith("kubectl-inject") else name or "injector"
