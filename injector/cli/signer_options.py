"""The options of commands that let a signer of the cluster sign a certificate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from injector.cli.numbers import Amount
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
        help=("Let a signer of the cluster sign the certificate: kubernetes.io/kubelet-serving, or another signer."),
    ),
    click.option(
        "--secret", metavar="NAME", help="With --signer: the Secret for the certificate and its key, instead of --out."
    ),
    click.option(
        "--cert-name",
        metavar="KEY",
        help=(
            "With --signer: name of the certificate in the Secret or in the folder. Default: tls.crt with --secret, "
            "server.crt with --out."
        ),
    ),
    click.option(
        "--key-name",
        metavar="KEY",
        help=(
            "With --signer: name of the private key in the Secret or in the folder. Default: tls.key with --secret, "
            "server.key with --out."
        ),
    ),
    click.option("--approve", is_flag=True, help="With --signer: approve the request, if you may."),
    click.option(
        "--wait",
        type=Amount(0, 86400),
        metavar="SECONDS",
        help="With --signer: how long to wait until it is approved and signed. Default: 300.",
    ),
    click.option("--kubeconfig", metavar="FILE", help="With --signer: kubeconfig file, as in kubectl."),
    click.option("--context", metavar="NAME", help="With --signer: context of the kubeconfig file."),
)


def with_signer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `signing`, None without --signer. The other options alone would do nothing, and are refused."""

    @functools.wraps(command)
    def checked(*args: Any, signing: Signing, **keywords: Any) -> Any:
        alone = [f"--{field.name.replace('_', '-')}" for field in fields(Signing) if getattr(signing, field.name)]
        if alone and not signing.signer:
            raise click.UsageError(f"{', '.join(alone)}: only with --signer.")
        return command(*args, **keywords, signing=signing if signing.signer else None)

    return as_one(checked, Signing, "signing", _OPTIONS)
