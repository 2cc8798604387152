"""The options of `injector certs --signer`, handed to the command as one value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from injector.cli.options import as_one


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """Who is to sign, where the result goes (a Secret, or None for a folder), and how the cluster is reached."""

    signer: str
    secret: str | None
    cert_name: str | None
    key_name: str | None
    approve: bool
    wait: float | None
    kubeconfig: str | None
    context: str | None


_OPTIONS = (
    click.option(
        "--signer",
        default="",
        metavar="NAME",
        help="Have the cluster sign it: kubernetes.io/kubelet-serving, or another.",
    ),
    click.option("--secret", metavar="NAME", help="With --signer: the Secret to put it in, instead of --out."),
    click.option("--cert-name", metavar="KEY", help="With --signer: the certificate's name there. Default: tls.crt."),
    click.option("--key-name", metavar="KEY", help="With --signer: the private key's name there. Default: tls.key."),
    click.option("--approve", is_flag=True, help="With --signer: approve the request, if you may."),
    click.option(
        "--wait",
        type=click.FloatRange(0, 86400),
        metavar="SECONDS",
        help="With --signer: how long to wait until it is approved and signed. Default: 300.",
    ),
    click.option("--kubeconfig", metavar="FILE", help="With --signer: as with kubectl."),
    click.option("--context", metavar="NAME", help="With --signer: as with kubectl."),
)


def with_signer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `signing`, None without --signer. The other options alone would do nothing, and are refused."""

    @functools.wraps(command)
    def checked(*args: Any, signing: Signing, **given: Any) -> Any:
        alone = [f"--{field.name.replace('_', '-')}" for field in fields(Signing) if getattr(signing, field.name)]
        if alone and not signing.signer:
            raise click.UsageError(f"{', '.join(alone)}: only with --signer.")
        return command(*args, **given, signing=signing if signing.signer else None)

    return as_one(checked, Signing, "signing", _OPTIONS)
