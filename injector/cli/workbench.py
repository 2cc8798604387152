"""`injector workbench`: a page in the browser for writing a template, with what it makes of a pod beside it."""

from __future__ import annotations

import signal
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from injector.cli.options import FOLDER, flag, option
from injector.errors import DocumentError


@click.command()
@click.argument("folder", default=".", type=FOLDER, metavar="[DIR]")
@option("--address", "ADDRESS", "Serve on this address.", default="127.0.0.1", show_default=True)
@option("--port", "PORT", "Serve on this port. Default: one that is free.", type=click.IntRange(0, 65535), default=0)
@flag("--no-open", "Do not open the page in a browser.")
def workbench(folder: Path, address: str, port: int, no_open: bool) -> int:
    """Write a template in the browser: its files on the left, what it makes of a pod on the right.

    DIR is the template's folder. Default: the current folder. The page shows what the editor knows (diagnostics,
    completion, hover), and the pod before and after, at each keystroke. It is served on this machine only, and whoever
    opens it needs the token in its address.

    \b
    injector new greeter && injector workbench greeter
    """
    import asyncio

    from injector.cli.lsp import need_packages

    need_packages()
    from injector.authoring.workbench.page_server import BUILT
    from injector.loading.template_folders import is_template, no_templates, templates_of

    if not (BUILT / "index.html").is_file():
        raise DocumentError(
            "the page of the workbench is not in this installation; a wheel of a release has it, and `make workbench` "
            "builds it in a checkout"
        )
    if not is_template(folder):
        inner = templates_of(folder) if folder.is_dir() else []
        none = f"{no_templates(folder)}; `injector new` makes one"
        more = f"name one of its templates: {', '.join(map(str, inner))}" if inner else none
        raise DocumentError(f"{folder}: {more}")
    try:
        asyncio.run(_serve(folder.resolve(), address, port, show=not no_open))
    except OSError as error:
        raise DocumentError(f"{address}:{port}: {error.strerror}") from None
    except KeyboardInterrupt:
        click.echo()
    return 0


async def _serve(folder: Path, address: str, port: int, *, show: bool) -> None:
    import asyncio

    from injector.authoring.workbench.page_server import Workbench

    bench = Workbench(folder)
    url = bench.listen(address, port)
    click.echo(f"{folder.name}: {url}")
    click.echo("Press Ctrl-C to stop.")
    try:
        with _way_to(url) as way:
            if show:
                await asyncio.to_thread(webbrowser.open, way)
            ended = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
            await ended.wait()
    finally:
        await bench.stop()


@contextmanager
def _way_to(url: str) -> Iterator[str]:
    """The address of a file that leads to a page: others may read what a browser is started with, but not the file."""
    with TemporaryDirectory(prefix="injector-") as room:
        page = Path(room) / "workbench.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={url}"><a href="{url}">The workbench</a>\n')
        yield page.as_uri()
