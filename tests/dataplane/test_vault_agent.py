"""The vault-agent template: a real agent logs in at a real Vault, and the app reads its secrets from files."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.dataplane.calls import call, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.gallery import PYTHON, app_pod
from tests.dataplane.network import Namespace
from tests.dataplane.pod_runner import RunningPod
from tests.parts import require

pytestmark = pytest.mark.programs

VAULT, PORT = "10.99.0.1", 8200
#: What people have in passwords, and what would end a quotation.
HOSTILE = {"user": "shop", "pass-word": 'it\'s $HOME "q" \\n {{ env `HOME` }} ${x} %s &\n<end>', "number": 7}
PARAMETERS: dict[str, Any] = {
    "address": f"http://{VAULT}:{PORT}",
    "role": "web",
    "secrets": {"db": "secret/data/shop/db"},
    "audience": "vault",
    "refresh-seconds": 1,
}
#: Copies what it finds at its start, in its first act.
READS = 'import sys, time; print(open("/vault/secrets/db").read(), flush=True); time.sleep(60)'


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("vault")


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    """What the cluster signs service accounts' tokens with."""
    return generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def secrets(key: RSAPrivateKey) -> dict[str, dict[str, str]]:
    """The service account's tokens by audience."""

    def token(audience: str) -> str:
        now = int(time.time())
        claims = {"sub": "system:serviceaccount:default:web", "aud": [audience], "iat": now, "exp": now + 3600}
        parts = [_encoded(json.dumps(part).encode()) for part in ({"alg": "RS256"}, claims)]
        return ".".join([*parts, _encoded(key.sign(".".join(parts).encode(), PKCS1v15(), SHA256()))])

    return {"serviceAccountToken": {name: token(name) for name in ("vault", "another")}}


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


class Vault:
    """A Vault outside of the pod, in memory, with a role for the pod's service account."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def ask(self, path: str, method: str = "POST", **body: Any) -> int:
        """A call of its API as its admin; the answer's status."""
        headers = {"X-Vault-Token": "root", "Content-Type": "application/json"}
        return call(self._namespace, VAULT, PORT, f"/v1/{path}", method, json.dumps(body).encode(), headers).status

    def put(self, **data: Any) -> None:
        """Another version of the secret."""
        assert self.ask("secret/data/shop/db", data=data) == 200


@contextmanager
def vault(namespace: Namespace, key: RSAPrivateKey, folder: Path) -> Iterator[Vault]:
    """A Vault within the block."""
    line = ["ip", "netns", "exec", namespace.name, str(require("vault")), "server", "-dev", "-dev-no-store-token"]
    line += ["-dev-root-token-id=root", f"-dev-listen-address={VAULT}:{PORT}"]
    with (folder / "vault").open("wb") as said, subprocess.Popen(line, stdout=said, stderr=said) as process:
        try:
            running = Vault(namespace)
            eventually(lambda: _answers(running))
            public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
            reads = 'path "secret/data/shop/*" { capabilities = ["read"] }'
            role = {"role_type": "jwt", "bound_audiences": ["vault"], "user_claim": "sub", "token_policies": ["shop"]}
            assert running.ask("sys/auth/kubernetes", type="jwt") == 204
            assert running.ask("auth/kubernetes/config", jwt_validation_pubkeys=[public]) == 204
            assert running.ask("sys/policies/acl/shop", policy=reads) == 204
            assert running.ask("auth/kubernetes/role/web", **role) == 204
            running.put(**HOSTILE)
            yield running
        finally:
            process.send_signal(signal.SIGTERM)


def _answers(running: Vault) -> bool:
    try:
        return running.ask("sys/health", "GET") == 200
    except OSError:
        return False


def reader(**fields: Any) -> dict[str, Any]:
    """A pod whose app needs the secret at once."""
    app = app_pod(command=[PYTHON, "-c", READS], ports=[], **fields)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        del app["spec"]["containers"][0][probe]
    return app


def written(pod: RunningPod) -> str:
    """The file as it is now; nothing where there is none."""
    file = pod.volume("vault-agent-secrets") / "db"
    return file.read_text() if file.exists() else ""


def holds(pod: RunningPod) -> bool:
    """Whether the agent still holds back the app after a second."""
    hook = pod.container("vault-agent")["lifecycle"]["postStart"]["exec"]["command"]
    try:
        pod.run_within("vault-agent", *hook, seconds=1)
    except subprocess.TimeoutExpired:
        return True
    return False


@pytest.mark.parametrize("native", [True, False])
def test_the_secret_is_there_when_the_app_starts_and_follows_the_vault(
    run: Run, key: RSAPrivateKey, secrets: Any, tmp_path: Path, native: bool
) -> None:
    options: dict[str, Any] = {"pod": reader(), "native": native, "secrets": secrets, "start": False}
    with run("vault-agent", PARAMETERS, **options) as pod, vault(pod.network.outside, key, tmp_path) as running:
        pod.start()
        assert json.loads(eventually(lambda: pod.output("app"))) == HOSTILE
        running.put(user="other")
        eventually(lambda: json.loads(written(pod)) == {"user": "other"})
        assert (pod.volume("vault-agent-secrets") / "db").stat().st_mode & 0o777 == 0o644
        found = dict(re.findall(r"(\w+):\t(.*)", Path(f"/proc/{pod.process('vault-agent')}/status").read_text()))
        assert found["Uid"].split() == ["100"] * 4
        assert {found[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}
        assert pod.stop("app") != 1 and pod.stop("vault-agent") == 0, pod.errors("vault-agent")


@pytest.mark.parametrize("form", ["env", "yaml", "own"])
def test_each_form_of_a_file_holds_what_the_vault_holds(
    run: Run, key: RSAPrivateKey, secrets: Any, tmp_path: Path, form: str
) -> None:
    own = {"templates": {"db": '{{ with secret "secret/data/shop/db" }}postgres://{{ .Data.data.user }}@db{{ end }}'}}
    given = {**PARAMETERS, "once": True, "file-mode": "0400", **(own if form == "own" else {"format": form})}
    options: dict[str, Any] = {"pod": reader(securityContext={"runAsUser": 1000}), "secrets": secrets, "start": False}
    with run("vault-agent", given, **options) as pod, vault(pod.network.outside, key, tmp_path):
        pod.start()
        eventually(lambda: pod.output("app"))
        text = written(pod)
        file = pod.volume("vault-agent-secrets") / "db"
        assert (file.stat().st_uid, file.stat().st_mode & 0o777) == (1000, 0o400)
        if form == "own":
            assert text == "postgres://shop@db"
        elif form == "yaml":
            assert yaml.safe_load(text) == HOSTILE
        else:
            names = {re.sub(r"\W", "_", name): str(value) for name, value in HOSTILE.items()}
            shown = 'for n in "$@"; do eval "printf \'%s\\0\' \\"\\$$n\\""; done'
            line = ["sh", "-c", f'. "$0"; {shown}', str(file), *names]
            read = subprocess.run(line, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})
            assert dict(zip(names, read.stdout.split("\0"), strict=False)) == names


def test_a_login_that_the_vault_refuses_keeps_the_app_from_starting(
    run: Run, key: RSAPrivateKey, secrets: Any, tmp_path: Path
) -> None:
    given = {**PARAMETERS, "audience": "another"}
    options: dict[str, Any] = {"pod": reader(), "secrets": secrets, "start": False}
    with run("vault-agent", given, **options) as pod, vault(pod.network.outside, key, tmp_path):
        pod.launch(pod.container("vault-agent"))
        eventually(lambda: "invalid audience" in pod.errors("vault-agent") + pod.output("vault-agent"))
        assert holds(pod)


def test_a_secret_that_the_role_may_not_read_keeps_the_app_from_starting(
    run: Run, key: RSAPrivateKey, secrets: Any, tmp_path: Path
) -> None:
    given = {**PARAMETERS, "secrets": {"db": "secret/data/shop/db", "other": "secret/data/other"}}
    options: dict[str, Any] = {"pod": reader(), "secrets": secrets, "start": False}
    with run("vault-agent", given, **options) as pod, vault(pod.network.outside, key, tmp_path):
        pod.launch(pod.container("vault-agent"))
        eventually(lambda: "permission denied" in pod.errors("vault-agent") and written(pod))
        assert holds(pod)
