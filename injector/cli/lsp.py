"""`injector lsp`: what is wrong with a template, in an editor, while somebody writes it."""

from __future__ import annotations

import os
import signal
import sys
from importlib.util import find_spec

import click

from injector.loading.template_folders import how_to_install

#: What the language server stands on, by module: the package to install.
_PACKAGES = {"pygls": "pygls", "kubernetes_validate": "kubernetes-validate"}


@click.command()
def lsp() -> None:
    """Run the language server, for an editor that starts it and talks to it on standard input and output.

    It shows what `injector lint` reports while you write a template, and completes, explains, finds and renames. A page
    of the documentation says how to set up your editor.
    """
    need_packages()
    from injector.authoring.lsp.language_server import make_server

    # as when its input ends: what it has made goes with it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = make_server()
    try:
        # of its own, as the server closes it
        server.start_io(stdout=os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    finally:
        server.end()


def need_packages() -> None:
    """Raise click.ClickException where a package of the language server is missing, saying how to install it."""
    if missing := [package for module, package in _PACKAGES.items() if find_spec(module) is None]:
        raise click.ClickException(
            f"the language server needs packages that are not installed; run {how_to_install(*missing)}"
        )
