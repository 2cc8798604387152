"""`injector serve`: the admission webhook. Options count before the settings file, environment variables in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from injector.errors import SettingsError
from injector.settings import Settings

_LOOPBACK = ("127.0.0.1", "localhost")


def _option(names: str, metavar: str, help_text: str, **more: Any) -> Callable[[Any], Any]:
    """An option that is an environment variable as well, and says so."""
    variable = names.split()[0].removeprefix("--").replace("-", "_").upper()
    more |= {"envvar": f"INJECTOR_{variable}", "show_envvar": True}
    return click.option(*names.split(), metavar=metavar or None, help=help_text, **more)


@click.command()
@_option("--port", "", "HTTPS port. Default: 8443.", type=click.IntRange(0, 65535))
@_option("--metrics-port", "", "HTTP port. Default: 9443.", type=click.IntRange(0, 65535))
@_option("--address", "ADDRESS", "Address to listen on. Default: all.")
@_option("--cert", "FILE", "Certificate (PEM). Default: /certs/tls.crt.")
@_option("--key", "FILE", "Private key of the certificate (PEM). Default: /certs/tls.key.")
@_option(
    "--settings settings_file",
    "FILE",
    "The settings file. Changes take effect without a restart, except those of server, certificates, retryRefused, "
    "repair and the list of paths.",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@_option(
    "--templates-dir templates_dirs",
    "DIR",
    "A template, or a folder of templates, in addition to the gallery. Repeatable (in the environment variable, "
    "separate the folders with :).",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
@_option(
    "--namespace",
    "NS",
    "The injector's own namespace: the injector reads template ConfigMaps there, and does not inject pods in "
    "that namespace.",
    default="",
)
@_option(
    "--standalone",
    "",
    "Work without an API server: every namespace counts as enabled, and no ConfigMap is created.",
    is_flag=True,
)
@_option(
    "--self-signed",
    "",
    "With --standalone: listen on 127.0.0.1, with a certificate that is made for this run.",
    is_flag=True,
)
@_option("--kubeconfig", "FILE", "Kubeconfig file, as in kubectl. Default: the pod's service account in the cluster.")
@_option("--pod-name", "NAME", "Name of the injector's own pod. Default: the host name.", default="")
@_option("--pod-uid", "UID", "UID of the injector's own pod, for Events on that pod.", default="")
@_option("--context", "NAME", "Context of the kubeconfig file, as in kubectl.")
def serve(
    port: int | None,
    metrics_port: int | None,
    address: str | None,
    cert: str | None,
    key: str | None,
    settings_file: Path | None,
    templates_dirs: tuple[Path, ...],
    namespace: str,
    standalone: bool,
    self_signed: bool,
    kubeconfig: str | None,
    context: str | None,
    pod_name: str,
    pod_uid: str,
) -> None:
    """Run the admission webhook, until SIGTERM or Ctrl-C.

    The API server sends its requests over HTTPS. /healthz, /readyz and /metrics are on the HTTP port. If the
    certificate, the settings or the templates change, the injector reads them again. Logs go to standard output, one
    JSON object per line.
    """
    import asyncio

    from injector.loading.template_folders import gallery_path

    # Tornado and the Kubernetes client take a while to import; `injector serve --help` needs neither.
    from injector.webhook.app import ServeOptions, run

    if self_signed and (not standalone or cert or key or address not in (None, *_LOOPBACK)):
        raise click.UsageError(
            "--self-signed goes with --standalone and without --cert and --key, and listens on 127.0.0.1 alone."
        )
    server = Settings().server
    if standalone and not (self_signed or cert or settings_file or Path(server.certificate).exists()):
        raise SettingsError(
            f"there is no certificate in {server.certificate}. To serve with one that is made for this run, add "
            "--self-signed. To make one for --cert and --key: injector certs --service localhost --namespace default "
            "--san localhost --san 127.0.0.1 --out DIR"
        )
    settings_given = {"port": port, "metrics_port": metrics_port, "address": address, "certificate": cert, "key": key}
    with ExitStack() as stack:
        if self_signed:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="injector-serve-")))
            settings_given |= {"address": "127.0.0.1", **_throwaway(folder)}
        options = ServeOptions(
            settings_file=settings_file,
            templates=(gallery_path(), *templates_dirs),
            standalone=standalone,
            namespace=namespace,
            kubeconfig=kubeconfig,
            context=context,
            pod_name=pod_name,
            pod_uid=pod_uid,
            server={name: value for name, value in settings_given.items() if value is not None},
        )
        try:
            asyncio.run(run(options))
        except OSError as error:
            raise SettingsError(f"cannot serve: {error.strerror or error}") from None


def _throwaway(folder: Path) -> dict[str, str]:
    """Settings of a certificate that is made into a folder; says where its authority is."""
    from injector.cli.throwaway_certificates import make_certificates

    certificates = make_certificates(("localhost", "127.0.0.1"), days=1)
    files = {"ca.crt": certificates.authority, "server.crt": certificates.certificate, "server.key": certificates.key}
    for name, content in files.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(content)
    click.echo(f"The certificate is for localhost and this run; clients trust it by {folder}/ca.crt.", err=True)
    return {"certificate": f"{folder}/server.crt", "key": f"{folder}/server.key"}
