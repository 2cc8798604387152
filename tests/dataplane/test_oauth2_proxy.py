"""The oauth2-proxy template: nobody reaches the app without a login at a provider, which the test runs itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from injector.cli.throwaway_certificates import make_certificates
from tests.dataplane.calls import Answer, call, eventually
from tests.dataplane.conftest import Run
from tests.dataplane.oidc import Provider, provider
from tests.dataplane.pod_runner import PodFailed, RunningPod
from tests.dataplane.receivers import tls_context
from tests.parts import require

pytestmark = pytest.mark.programs

PORT, METRICS, ISSUER = 4180, 4181, 9000
HOST = "shop.example"
SECRET = {"client-secret": "for the provider", "cookie-secret": "0123456789abcdef0123456789abcdef"}
#: Go to the login; a browser says that it takes pages.
BROWSER = {"Host": HOST, "Accept": "text/html"}
Parts = tuple[RunningPod, Provider]


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    require("oauth2-proxy")


def parameters(**more: Any) -> dict[str, Any]:
    issuer = f"http://10.99.0.1:{ISSUER}"
    return {"issuer-url": issuer, "client-id": "web", "secret-name": "web-login", **more}


@pytest.fixture(scope="module")
def parts(run: Run, programs: None) -> Iterator[Parts]:
    given = parameters(**{"skip-paths": ["/healthz", "/static/*"], "api-paths": ["/api/*"]})
    with (
        run("oauth2-proxy", given, start=False, secrets={"web-login": SECRET}) as pod,
        provider(
            pod.network.outside,
            ISSUER,
            SECRET["client-secret"],
            email="ada@shop.example",
            email_verified=True,
            groups=["admins"],
            preferred_username="ada",
        ) as known,
    ):
        pod.start()
        yield pod, known


def get(pod: RunningPod, path: str = "/", **headers: str) -> Answer:
    """What a browser, with these headers too, gets from oauth2-proxy."""
    return call(pod.network.outside, pod.network.pod.ipv4, PORT, path, headers={**BROWSER, **headers})


def path_of(url: str) -> str:
    found = urlsplit(url)
    return f"{found.path}?{found.query}" if found.query else found.path


def cookie(answer: Answer) -> str:
    return answer.headers["set-cookie"].split(";")[0]


def log_in(pod: RunningPod) -> tuple[Answer, str]:
    """The browser's way through a login: the answer that ends it, and the session's cookie."""
    first = get(pod, "/basket?item=7")
    assert first.status == 302, first
    login = call(pod.network.outside, "10.99.0.1", ISSUER, path_of(first.headers["location"]))
    back = urlsplit(login.headers["location"])
    assert (back.scheme, back.netloc, back.path) == ("https", HOST, "/oauth2/callback")
    done = get(pod, path_of(login.headers["location"]), Cookie=cookie(first))
    return done, done.headers.get("set-cookie", "").split(";")[0]


def test_a_browser_without_a_session_is_sent_to_the_login(parts: Parts) -> None:
    pod, known = parts
    answer = get(pod, "/basket?item=7")
    assert answer.status == 302
    asked = parse_qs(urlsplit(answer.headers["location"]).query)
    assert answer.headers["location"].startswith(f"{known.issuer}/authorize?")
    assert asked["client_id"] == ["web"] and asked["code_challenge_method"] == ["S256"] and asked["nonce"]
    assert asked["redirect_uri"] == [f"https://{HOST}/oauth2/callback"]
    assert {"HttpOnly", "Secure", "SameSite=Lax"} <= set(answer.headers["set-cookie"].split("; "))


def test_what_asks_for_json_is_told_401(parts: Parts) -> None:
    assert get(parts[0], Accept="application/json").status == 401
    assert get(parts[0], "/api/things").status == 401


def test_some_paths_need_no_login(parts: Parts) -> None:
    pod, _ = parts
    for path in ("/healthz", "/static/a.css"):
        answer = get(pod, path, **{"X-Forwarded-User": "mallory", "X-Forwarded-Email": "m@shop.example"})
        assert answer.status == 200 and answer.json["path"] == path
        assert not {"x-forwarded-user", "x-forwarded-email"} & set(answer.json["headers"])
    for path in ("/healthz2", "/x/healthz", "/static", "/healthz/../basket"):
        assert get(pod, path).status != 200, path


def test_a_login_ends_at_the_app(parts: Parts) -> None:
    pod, known = parts
    done, session = log_in(pod)
    assert done.status == 302 and done.headers["location"] == "/basket?item=7"
    assert not known.refusals
    answer = get(pod, done.headers["location"], Cookie=session, **{"X-Forwarded-User": "mallory"})
    assert answer.status == 200 and answer.json["path"] == "/basket?item=7"
    assert answer.json["peer"].endswith("127.0.0.1")
    headers = answer.json["headers"]
    assert headers["x-forwarded-email"] == "ada@shop.example"
    assert headers["x-forwarded-user"] == "1"
    assert headers["x-forwarded-groups"] == "admins"
    assert headers["x-forwarded-preferred-username"] == "ada"
    assert "x-forwarded-access-token" not in headers
    out = get(pod, "/oauth2/sign_out", Cookie=session)
    assert out.status == 302 and cookie(out) == "_oauth2_proxy="


def test_a_code_is_of_use_to_the_browser_that_began_alone(parts: Parts) -> None:
    pod, known = parts
    victim, attacker = get(pod), get(pod)
    stolen = call(pod.network.outside, "10.99.0.1", ISSUER, path_of(victim.headers["location"]))
    assert get(pod, path_of(stolen.headers["location"])).status == 403
    answer = get(pod, path_of(stolen.headers["location"]), Cookie=cookie(attacker))
    assert answer.status == 500 and "_oauth2_proxy=" not in answer.headers.get("set-cookie", "")
    assert known.refusals[0] == "verifier"  # it may ask again, in another way
    known.refusals.clear()


def test_a_forged_session_is_none(parts: Parts) -> None:
    pod, _ = parts
    _, session = log_in(pod)
    name, value = session.split("=", 1)
    assert get(pod, Cookie=f"{name}={'A' + value[1:] if value[0] != 'A' else 'B' + value[1:]}").status == 302


def test_an_address_in_a_header_is_not_believed(parts: Parts) -> None:
    headers = {"X-Real-IP": "127.0.0.1", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Uri": "/healthz"}
    assert get(parts[0], **headers).status == 302


def test_probes_and_metrics(parts: Parts) -> None:
    pod, _ = parts
    assert pod.probe("oauth2-proxy-sidecar", "readinessProbe") and pod.probe("app", "readinessProbe")
    page = call(pod.network.outside, pod.network.pod.ipv6, METRICS, "/metrics")
    assert b"oauth2_proxy_requests_total" in page.body
    assert call(pod.network.outside, pod.network.pod.ipv6, PORT, "/ping").status == 200


def test_no_secret_is_in_its_config_file_arguments_or_log(parts: Parts) -> None:
    pod, _ = parts
    log_in(pod)
    process = Path(f"/proc/{pod.process('oauth2-proxy-sidecar')}")
    config = (process / "root/etc/oauth2-proxy/oauth2-proxy.cfg").read_text()
    name = "oauth2-proxy-sidecar"
    eventually(lambda: "AuthSuccess" in pod.output(name) + pod.errors(name))
    seen = config + (process / "cmdline").read_text() + pod.output(name) + pod.errors(name)
    assert not [secret for secret in SECRET.values() if secret in seen]
    status = dict(re.findall(r"(\w+):\t(.*)", (process / "status").read_text()))
    assert status["Uid"].split() == ["65532"] * 4
    assert {status[f"Cap{kind}"] for kind in ("Prm", "Eff", "Bnd", "Inh", "Amb")} == {"0" * 16}


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"allowed-groups": ["admins"]}, 302),
        ({"allowed-groups": ["owners"]}, 403),
        ({"email-domains": ["other.example"]}, 403),
    ],
)
def test_who_may_in(run: Run, more: dict[str, Any], status: int) -> None:
    with (
        run("oauth2-proxy", parameters(**more), start=False, secrets={"web-login": SECRET}) as pod,
        provider(
            pod.network.outside,
            ISSUER,
            SECRET["client-secret"],
            email="ada@shop.example",
            email_verified=True,
            groups=["admins"],
        ),
    ):
        pod.start()
        assert log_in(pod)[0].status == status


def test_trusted_addresses_and_an_ingress(run: Run) -> None:
    secrets = {"web-login": SECRET}
    with (
        run("oauth2-proxy", parameters(**{"trusted-ips": ["10.99.0.0/24"]}), start=False, secrets=secrets) as pod,
        provider(pod.network.outside, ISSUER, SECRET["client-secret"]),
    ):
        pod.start()
        assert get(pod).status == 200
    with (
        run("oauth2-proxy", parameters(**{"trusted-proxies": ["10.99.0.0/24"]}), start=False, secrets=secrets) as pod,
        provider(pod.network.outside, ISSUER, SECRET["client-secret"]),
    ):
        pod.start()
        answer = get(pod, **{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "front.example"})
        asked = parse_qs(urlsplit(answer.headers["location"]).query)
        assert asked["redirect_uri"] == ["https://front.example/oauth2/callback"]


@pytest.mark.parametrize("ours", [True, False])
def test_a_provider_whose_authority_is_our_own(run: Run, tmp_path: Path, ours: bool) -> None:
    certificates, other = (make_certificates(["10.99.0.1"], days=1) for _ in range(2))
    given = certificates if ours else other
    with (
        run(
            "oauth2-proxy",
            {**parameters(), "issuer-url": f"https://10.99.0.1:{ISSUER}", "ca-configmap": "our-ca"},
            start=False,
            secrets={"web-login": SECRET},
            maps={"our-ca": {"ca.crt": given.authority.decode()}},
        ) as pod,
        provider(pod.network.outside, ISSUER, SECRET["client-secret"], tls_context(certificates, tmp_path / "tls")),
    ):
        if ours:
            pod.start()
            assert get(pod).headers["location"].startswith(f"https://10.99.0.1:{ISSUER}/authorize?")
        else:
            with pytest.raises(PodFailed, match="certificate signed by unknown authority"):
                pod.start()


@pytest.mark.parametrize("wait", [True, False])
def test_without_the_provider_the_pod_is_not_ready(run: Run, wait: bool) -> None:
    with run("oauth2-proxy", parameters(wait=wait), start=False, secrets={"web-login": SECRET}) as pod:
        with pytest.raises(PodFailed, match="oauth2-proxy"):
            pod.start()
        assert pod.started("app") != wait
