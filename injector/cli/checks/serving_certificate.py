"""The certificate: whom the API server trusts (caBundle), what the injector shows, and how long both are valid."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

from cryptography.x509 import Certificate

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning
from injector.cluster.blocking_client import ClusterError
from injector.cluster.x509 import certificate_names, is_authority, issued_by, read_certificates
from injector.pods.context import Object, mapping

_RENEW = (
    "renew the certificate: docs/installing-by-hand.md, part 3, or docs/csr.md. If its source is `builtin` or "
    "`cert-manager`, do not renew it yourself: the log of the injector or of cert-manager says why the automatic "
    "renewal failed"
)
#: Who writes caBundle, but where a person does.
_WRITTEN = {
    "builtin": (
        'the injector writes the caBundle when it starts: see the sections "server" and "permissions" '
        "of this report, and the injector's log"
    ),
    "cert-manager": "cert-manager's cainjector writes it: look at its log, and at the Certificate",
}
_MADE = {
    "builtin": (
        'the injector makes the certificate when it starts: see the sections "server" and "permissions" of this '
        "report, and the injector's log"
    ),
    "cert-manager": "cert-manager makes it: kubectl describe certificate -n NAMESPACE",
    "csr": "make one: injector certs --signer (docs/csr.md)",
}
_SOON = 21.0  # days
#: A certificate that lives for less than three weeks is not late all its life: this share of it has to be over.
_SHARE = 0.75


def bundles(context: CheckContext) -> CheckVerdicts:
    """Every entry's caBundle: present, readable, with certificates of authorities, not expired."""
    now = datetime.now(UTC)
    faults = {name: fault for name, entry in context.entries.items() if (fault := bundle_fault(bundle_of(entry), now))}
    by_hand = "put the CA certificate into caBundle (docs/installing-by-hand.md, part 4)"
    to_do = _WRITTEN.get(context.settings.certificates.source, by_hand)
    for fault in dict.fromkeys(faults.values()):
        names = [name for name, its_fault in faults.items() if its_fault == fault]
        whose = f"entry {names[0]}" if len(names) == 1 else f"{len(names)} of {len(context.entries)} entries"
        yield bad("ca-bundle", f"{whose}: {fault}", to_do, entries=names)
    if context.entries and not faults:
        yield good("ca-bundle", f"each of {len(context.entries)} entries has a caBundle")


def bundle_fault(pem: bytes, now: datetime) -> str:
    """What is wrong with a caBundle by itself; "" if nothing."""
    if not pem:
        return "caBundle is empty"
    ends = [certificate.not_valid_after_utc for certificate in read_certificates(pem)]
    if not ends:
        return "caBundle holds no certificate (PEM, in base64)"
    if max(ends) <= now:
        return f"caBundle expired at {max(ends):%Y-%m-%d %H:%M}"
    return ""


def served(context: CheckContext) -> CheckVerdicts:
    """The certificate in its Secret: time, names, and whether every caBundle trusts it."""
    name, key = where(context)
    if not name and not context.entries:
        return  # nothing is installed, which is told elsewhere
    if not name:
        to_do = "the trial pod below checks it instead"
        yield warning("certificate", "the injector's Deployment mounts no Secret as its certificate", to_do)
        return
    try:
        secret = context.live.found(f"/api/v1/namespaces/{context.namespace}/secrets/{name}")
    except ClusterError as error:
        if error.status != 403:
            raise
        to_do = f"run the command as a user who may get secret {name} in namespace {context.namespace}"
        yield warning("certificate", f"not checked: {error}", to_do)
        return
    chain = read_certificates(base64.b64decode(mapping(mapping(secret).get("data")).get(key) or ""))
    if not chain:
        fault = "has no certificate" if secret else "does not exist"
        to_do = _MADE.get(context.settings.certificates.source, "make one: docs/installing-by-hand.md, part 3")
        yield bad("certificate", f"secret {context.namespace}/{name} {fault} (key {key})", to_do)
        return
    yield from lasting(chain[0], datetime.now(UTC))
    host = f"{context.name}.{context.namespace}.svc"
    if host not in certificate_names(chain[0]):
        to_do = f"make one for that name: injector certs --service {context.name} --namespace {context.namespace}"
        yield bad("certificate-name", f"the certificate in secret {name} is not for {host}", to_do)
    yield from _trusted(context, name, chain)


def _trusted(context: CheckContext, secret: str, chain: Sequence[Certificate]) -> CheckVerdicts:
    """Whether the caBundle of each entry trusts the certificate in a Secret of this name."""
    bundles = {name: read_certificates(bundle_of(entry)) for name, entry in context.entries.items()}
    strangers = [entry for entry, bundle in bundles.items() if bundle and not trusts(bundle, chain)]
    if strangers:
        whose = "every entry" if len(strangers) == len(bundles) else f"entry {', '.join(strangers)}"
        yield bad(
            "certificate-trusted",
            f"{whose}: caBundle does not trust the certificate in secret {secret}",
            (
                "put the CA certificate that signed this certificate into caBundle, or use a certificate that a CA "
                "in caBundle signed"
            ),
        )
    elif bundles and all(bundles.values()):
        yield good("certificate-trusted", f"every caBundle trusts the certificate in secret {secret}", secret=secret)


def lasting(certificate: Certificate, now: datetime) -> CheckVerdicts:
    """How long the certificate is still good for."""
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    days = (end - now).total_seconds() / 86400
    if days <= 0:
        text = f"the certificate expired at {end:%Y-%m-%d %H:%M}: the API server refuses it"
        yield bad("certificate-days", text, _RENEW, days=round(days, 2))
    elif begin > now:
        to_do = "check the clocks of this machine and of the machine that made the certificate"
        yield bad("certificate-days", f"the certificate is valid only from {begin:%Y-%m-%d %H:%M}", to_do)
    elif days < _SOON and (now - begin) / (end - begin) > _SHARE:
        yield warning("certificate-days", f"the certificate expires in {days:.1f} days", _RENEW, days=round(days, 2))
    else:
        yield good("certificate-days", f"the certificate is good for {days:.0f} more days", days=round(days, 2))


def trusts(bundle: Sequence[Certificate], chain: Sequence[Certificate]) -> bool:
    """Whether the first certificate of a chain leads to an authority of the bundle, by way of the others."""
    current, left = chain[0], list(chain[1:])
    while not any(root == current or (is_authority(root) and issued_by(current, root)) for root in bundle):
        above = next((issuer for issuer in left if issued_by(current, issuer)), None)
        if above is None:
            return False
        left.remove(above)
        current = above
    return True


def bundle_of(entry: Object) -> bytes:
    """An entry's caBundle, PEM; empty where there is none or it is no base64."""
    try:
        return base64.b64decode(entry["clientConfig"].get("caBundle") or "")
    except ValueError:
        return b""


def where(context: CheckContext) -> tuple[str, str]:
    """Name and key of the Secret that holds the certificate; ("", "") where the pods mount none."""
    if context.settings.certificates.source == "builtin":
        return context.settings.certificates.secret, "tls.crt"
    spec = context.pod_spec
    file = PurePosixPath(context.settings.server.certificate)
    secrets = {v["name"]: v["secret"] for v in spec.get("volumes") or () if v.get("secret")}
    for container in spec.get("containers") or ():
        for mount in container.get("volumeMounts") or ():
            secret = secrets.get(mount["name"])
            if secret and file.is_relative_to(mount["mountPath"]):
                path = str(file.relative_to(mount["mountPath"]))
                keys = {item["path"]: item["key"] for item in secret.get("items") or ()}
                return str(secret.get("secretName")), keys.get(path, path)
    return "", ""


SECTION = Section("certificate", (bundles, served))
