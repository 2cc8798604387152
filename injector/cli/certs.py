"""`injector certs`: a certificate for the webhook, its authority, and the forms in which Kubernetes wants them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from injector.cli.options import FOLDER, SIGNER_OPTIONS, Signing, as_one, flag, option, with_options
from injector.errors import DocumentError, SettingsError

if TYPE_CHECKING:
    from injector.cli.documents import Document
    from injector.cli.throwaway_certificates import ThrowawayCertificates
    from injector.pods.context import Object

#: DNS names, with a wildcard too, and IP addresses.
_HOST = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]+")
#: File name, mode. The key is for its owner only.
_FILES = (("ca.crt", 0o644), ("server.crt", 0o644), ("server.key", 0o600))


@click.command()
@option("--service", "NAME", "The webhook's Service.", required=True)
@option("--namespace", "NS", "The namespace of that Service.", required=True)
@option("--out", "", "Folder for ca.crt, server.crt and server.key.", type=FOLDER)
@option("--san more_names", "NAME", "An additional DNS name or IP address. Repeatable.", multiple=True)
@option(
    "--host hosts",
    "NAME",
    "A DNS name or IP address in place of the Service's own. The first is the common name. Repeatable.",
    multiple=True,
)
@option("--cluster-domain", "", "The cluster's DNS domain.", default="cluster.local", show_default=True)
@option(
    "--days",
    "",
    "For how many days the certificate is valid.",
    type=click.IntRange(1, 36500),
    default=365,
    show_default=True,
)
@flag("--rsa use_rsa", "RSA with 2048 bits instead of P-256.")
@flag(
    "--force", "Overwrite files that are there. With --signer: make a new certificate even if the present one is good."
)
@option(
    "--print print_form",
    "",
    "Print a Secret of type kubernetes.io/tls, or the caBundle of a webhook configuration (base64).",
    type=click.Choice(["secret", "ca-bundle"]),
)
@option(
    "--fill",
    "FILE",
    "Print this manifest, with the caBundle in each webhook entry that calls the Service. Use - for standard input.",
)
@option("--secret-name", "NAME", "Name of the printed Secret. Default: SERVICE-tls.")
@with_options(*SIGNER_OPTIONS)
@as_one(Signing, "signing")
def certs(
    service: str,
    namespace: str,
    out: Path | None,
    more_names: tuple[str, ...],
    hosts: tuple[str, ...],
    cluster_domain: str,
    days: int,
    use_rsa: bool,
    force: bool,
    print_form: str | None,
    fill: str | None,
    secret_name: str | None,
    signing: Signing,
) -> None:
    """Make a certificate for the webhook, and a certificate authority (CA) that signs only this certificate.

    You can combine --out with --print or --fill: they then use the certificate and the CA that --out writes. The CA's
    key is not kept: to get a new certificate, run the command again and distribute the new ca.crt as well.

    With --signer, a signer of the cluster signs the certificate (CSR API), after somebody has approved the request.
    The certificate goes into a Secret or a folder. If you run the command again, it continues with a request that
    waits, and renews a certificate that has less than a third of its lifetime left.
    """
    from injector.cli.documents import read_manifests, write_manifests
    from injector.cli.throwaway_certificates import make_certificates
    from injector.cluster.x509 import service_names

    alone = [f"--{field.name.replace('_', '-')}" for field in fields(signing) if getattr(signing, field.name)]
    if alone and not signing.signer:
        raise click.UsageError(f"{', '.join(alone)}: only with --signer.")
    _check_names(
        {"--service": service, "--namespace": namespace, "--secret-name": secret_name},
        {"--san": more_names, "--host": hosts},
    )
    _check_destination(signing, out, print_form, fill, secret_name)
    names = (*(hosts or service_names(service, namespace, cluster_domain)), *more_names)
    manifest = read_manifests([fill]) if fill else []
    if fill:
        check_calls(manifest, service, namespace)
    if signing.signer:
        # The Kubernetes client takes a while to import; a certificate of one's own needs none.
        from injector.cli.csr_flow import Wish, have_signed

        wish = Wish(service=service, namespace=namespace, names=names, days=days, use_rsa=use_rsa, force=force)
        authorities = have_signed(wish, signing, out)
        if fill and not authorities:
            raise SettingsError(f"{fill}: not filled, because the signer's CA certificate is not known (see above)")
    else:
        certificates = make_certificates(names, days=days, use_rsa=use_rsa)
        authorities = certificates.authority
        if out is not None:
            _write(out, certificates, force=force)
        if print_form == "secret":
            click.echo(_secret(certificates, secret_name or f"{service}-tls", namespace), nl=False)
    if fill:
        write_manifests(with_ca_bundle(manifest, service, namespace, authorities))
    elif print_form == "ca-bundle":
        click.echo(base64.b64encode(authorities))


def _check_destination(
    signing: Signing, out: Path | None, print_form: str | None, fill: str | None, secret_name: str | None
) -> None:
    """Check that the options say where the certificate goes, once. Raises click.UsageError."""
    if fill and print_form:
        raise click.UsageError("Use either --fill or --print, because each writes to standard output.")
    if not signing.signer:
        if out is None and print_form is None:
            more = "" if fill else ", --print secret or --print ca-bundle"
            raise click.UsageError(f"Name the destination: --out DIR{more}.")
        return
    if (out is None) == (signing.secret is None):
        raise click.UsageError("With --signer, name the destination: --secret NAME or --out DIR.")
    if print_form == "secret" or secret_name:
        raise click.UsageError("With --signer, write --secret NAME in place of --print secret and --secret-name.")


def _check_names(labels: Mapping[str, str | None], hosts: Mapping[str, Sequence[str]]) -> None:
    """Check the values of options that name a Service, a namespace, a Secret, or hosts. Raises click.BadParameter."""
    from injector.names import is_dns_label

    for hint, label in labels.items():
        if label is not None and not is_dns_label(label):
            raise click.BadParameter(f'"{label}" is not a valid Kubernetes name: use a-z, 0-9 and -', param_hint=hint)
    for hint, names in hosts.items():
        for name in names:
            if not _HOST.fullmatch(name):
                raise click.BadParameter(f'"{name}" is neither a DNS name nor an IP address', param_hint=hint)


def _write(folder: Path, certificates: ThrowawayCertificates, *, force: bool) -> None:
    """Write the three files, all or none, and say so. Raises SettingsError when one is there already."""
    from injector.authoring.output_files import write_files

    present = [name for name, _ in _FILES if (folder / name).exists()]
    if present and not force:
        raise SettingsError(f"{folder}: {', '.join(present)} already there; --force overwrites")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        data = (certificates.authority, certificates.certificate, certificates.key)
        write_files({folder / name: (text, mode) for (name, mode), text in zip(_FILES, data, strict=True)})
    except OSError as error:
        raise SettingsError(f"{folder}: {error.strerror or error}") from None
    click.echo(
        f"Wrote ca.crt, server.crt and server.key to {folder}: for {', '.join(certificates.names)}, "
        f"valid until {certificates.until:%Y-%m-%d}",
        err=True,
    )


def _secret(certificates: ThrowawayCertificates, name: str, namespace: str) -> str:
    """The Secret for the webhook's pod: https://kubernetes.io/docs/concepts/configuration/secret/#tls-secrets"""
    from injector.authoring.manifest_writer import dump_yaml

    data = {
        "ca.crt": certificates.authority,
        "tls.crt": certificates.certificate,
        "tls.key": certificates.key,
    }
    return dump_yaml(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "type": "kubernetes.io/tls",
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
    )


_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def check_calls(documents: Sequence[Document], service: str, namespace: str) -> None:
    """Raise DocumentError, naming the Services that are called, when no entry calls this one."""
    from injector.cli.manifest_objects import objects_in

    called = [_service(entry) for obj in objects_in(documents) for entry in _entries(obj)]
    if (namespace, service) not in called:
        services = sorted({f"{name} in {its_namespace}" for its_namespace, name in called if name})
        calls = f"they call {', '.join(services)}" if services else "there is no webhook entry that calls a Service"
        source = documents[0].source if documents else "the manifest"
        raise DocumentError(f"{source}: no webhook entry calls the Service {service} in namespace {namespace}; {calls}")


def with_ca_bundle(documents: Sequence[Document], service: str, namespace: str, authorities: bytes) -> list[Document]:
    """The documents with these authorities (PEM) in each webhook entry that calls the Service; all else as it was."""
    from injector.cli.manifest_objects import edit

    bundle = base64.b64encode(authorities).decode()

    def filled(entry: Any) -> Any:
        if not isinstance(entry, dict) or _service(entry) != (namespace, service):
            return entry
        return {**entry, "clientConfig": {**entry["clientConfig"], "caBundle": bundle}}

    def change(obj: Object, _: Document) -> list[Object] | None:
        entries = _entries(obj)
        if not any(_service(entry) == (namespace, service) for entry in entries):
            return None
        return [{**obj, "webhooks": [filled(entry) for entry in obj["webhooks"]]}]

    return list(edit(documents, change))


def _entries(obj: Object) -> list[Object]:
    from injector.pods.context import mappings

    return mappings(obj.get("webhooks")) if obj.get("kind") in _KINDS else []


def _service(entry: Object) -> tuple[object, object]:
    """Namespace and name of the Service that an entry calls; nothing where it calls a URL."""
    from injector.pods.context import mapping

    service = mapping(mapping(entry.get("clientConfig")).get("service"))
    return service.get("namespace"), service.get("name")
