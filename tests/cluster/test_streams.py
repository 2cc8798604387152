"""Nobody notices: pod after pod comes into a `required` namespace with the guard, while each of these things changes.

`make soak` does the same with 2,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.balancer import Balancer
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod, service, webhook
from tests.cluster.processes import eventually, free_port
from tests.cluster.server import InjectorServer
from tests.cluster.stream import Seen, Stream

SETTINGS = {"templates": ["proxy"], "server": {"drainSeconds": 6.0}}
NAME = "streamed"

_MANIFEST = """
description: A proxy for tests.
parameters:
  level: {type: string, default: info, description: What it logs.}
"""
_OVERLAYS = {
    1: """
metadata: {annotations: {proxied-by: one}}
spec:
  volumes: [{name: scratch, emptyDir: {}}]
  containers:
  - name: proxy
    image: registry.example/proxy:1
    env: [{name: LEVEL, value: "{{ params.level }}"}]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: "*"
    env: [{name: PROXY, value: "1"}]
""",
    # another image, more and less than before
    2: """
spec:
  volumes: [{name: cache, emptyDir: {}}]
  containers:
  - name: proxy
    image: registry.example/proxy:2
    args: [--new]
    env: [{name: LEVEL, value: "{{ params.level }}"}]
    volumeMounts: [{name: cache, mountPath: /cache}]
  - name: "*"
    env: [{name: PROXIED, value: "yes"}]
""",
}


def write_template(folder: Path, version: int) -> None:
    (folder / "proxy").mkdir(exist_ok=True)
    (folder / "proxy" / "template.yaml").write_text(_MANIFEST)
    (folder / "proxy" / "overlay.yaml.j2").write_text(_OVERLAYS[version])


Start = Callable[..., InjectorServer]
ClientConfig = Callable[[str], Any]
BehindService = Callable[[str, list[InjectorServer]], tuple[Balancer, ClientConfig]]


@pytest.fixture
def start(injector_server: Callable[..., InjectorServer]) -> Start:
    """Starts a server of a version, with the certificate of another one where given."""

    def make(version: int, like: InjectorServer | None = None, namespace: str = "") -> InjectorServer:
        server = injector_server(settings=SETTINGS, start=False)
        write_template(server.templates_dir, version)
        if like is None:
            server.write_certificate(f"{NAME}.{namespace}.svc")
        else:  # replicas mount one Secret
            server.key_file.write_bytes(like.key_file.read_bytes())
            server.certificate_file.write_bytes(like.certificate_file.read_bytes())
        server.start()
        return server

    return make


@pytest.fixture
def stream(control_plane: ControlPlane, configure_webhooks: ConfigureWebhooks, total: int) -> Callable[..., Stream]:
    """Registers the mutating entry and the guard of a `required` namespace, and makes the stream into it: ten a
    second at least, as a moment without an answer should meet one, and more of them while the changes take longer.
    """

    def make(namespace: str, client_config: Callable[[str], Any]) -> Stream:
        fields = {"failurePolicy": "Fail", "timeoutSeconds": 10}
        mutate = webhook(f"required.{namespace}.example", client_config("/mutate"), namespace,
                         reinvocationPolicy="IfNeeded", **fields)  # fmt: skip
        guard = webhook(f"guard.{namespace}.example", client_config("/validate"), namespace, **fields)
        configure_webhooks(mutate)
        configure_webhooks(guard, validating=True)
        return Stream(control_plane.api, namespace, wanted="proxy", per_second=max(10, total / 15))

    return make


@pytest.fixture
def behind_service(control_plane: ControlPlane) -> Iterator[BehindService]:
    """Puts servers behind a Service of a namespace: the Balancer, and the clientConfig that names the Service."""
    with ExitStack() as running:

        def make(namespace: str, servers: list[InjectorServer]) -> tuple[Balancer, ClientConfig]:
            port = free_port()
            control_plane.api.create(service(NAME, port), namespace)
            address = control_plane.api.get("Service", NAME, namespace)["spec"]["clusterIP"]
            bundle = servers[0].ca_bundle

            def client_config(path: str) -> Any:
                reference = {"name": NAME, "namespace": namespace, "port": port, "path": path}
                return {"service": reference, "caBundle": bundle}

            return running.enter_context(Balancer(address, port, servers)), client_config

        yield make


@pytest.fixture(params=[100, pytest.param(2000, marks=pytest.mark.soak(minutes=6))])
def total(request: pytest.FixtureRequest) -> int:
    """How many pods come."""
    count: int = request.param
    return count


@pytest.fixture
def vault(namespace: NamespaceFactory) -> str:
    return namespace(labels={"injection": "required"})


def assert_unnoticed(seen: Seen, total: int, *images: str) -> None:
    assert seen.refused == [], f"{len(seen.refused)} of {seen.created + len(seen.refused)} refused"
    assert seen.without == []
    assert seen.created >= total
    assert set(seen.images) == set(images)
    assert min(seen.images.values()) > total / 20, "the change came too early or too late to show anything"


def test_a_rolling_upgrade_to_other_templates(
    vault: str, total: int, start: Start, stream: Callable[..., Stream], behind_service: BehindService
) -> None:
    example = start(1, namespace=vault)
    old, new = [example, start(1, example, vault)], list[InjectorServer]()
    balancer, client_config = behind_service(vault, old)

    def add() -> None:
        new.append(start(2, example, vault))
        # connections that are open stay where they are, until their server says that it closes them
        balancer.servers = (*balancer.servers, new[-1])

    def end_one() -> None:
        server = old.pop()
        assert server.stop() == 0
        balancer.servers = tuple(one for one in balancer.servers if one is not server)

    seen = stream(vault, client_config).during(add, end_one, add, end_one, total=total)
    assert balancer.servers == tuple(new)
    assert all(balancer.gives(server) for server in new)  # whether it asks for a connection is the API server's choice
    assert_unnoticed(seen, total, "registry.example/proxy:1", "registry.example/proxy:2")


def test_a_certificate_that_is_replaced(vault: str, total: int, start: Start, stream: Callable[..., Stream]) -> None:
    server = start(1, namespace=vault)

    def rotate() -> None:
        swaps = server.log.count("certificate-swapped")
        server.write_certificate()
        eventually("it is in use", lambda: server.log.count("certificate-swapped") > swaps)

    seen = stream(vault, server.client_config).during(rotate, rotate, rotate, total=total)
    assert seen.refused == [] == seen.without
    assert seen.created >= total
    assert server.log.count("certificate-swapped") == 3


def test_a_certificate_that_is_replaced_in_the_middle_of_an_upgrade(
    vault: str, total: int, start: Start, stream: Callable[..., Stream], behind_service: BehindService
) -> None:
    """Kubelets bring it to one replica after the other; one that starts later has never had the old one."""
    old = start(1, namespace=vault)
    new = start(2, old, vault)
    # the API server may keep to one connection: the stream begins with the old alone, and ends without it
    balancer, client_config = behind_service(vault, [old])

    def swapped(server: InjectorServer, renew: Callable[[], object]) -> Callable[[], object]:
        def change() -> None:
            swaps = server.log.count("certificate-swapped")
            renew()
            eventually("it is in use", lambda: server.log.count("certificate-swapped") > swaps)

        return change

    def copy() -> None:
        new.key_file.write_bytes(old.key_file.read_bytes())
        new.certificate_file.write_bytes(old.certificate_file.read_bytes())

    def add_new() -> None:
        balancer.servers = (old, new)

    def replace_new() -> None:
        later = start(2, old, vault)
        balancer.servers = (old, later)
        assert new.stop() == 0

    def end_old() -> None:
        balancer.servers = tuple(one for one in balancer.servers if one is not old)
        assert old.stop() == 0

    renewals = swapped(old, lambda: old.write_certificate(f"{NAME}.{vault}.svc")), swapped(new, copy)
    seen = stream(vault, client_config).during(add_new, *renewals, replace_new, end_old, total=total)
    assert_unnoticed(seen, total, "registry.example/proxy:1", "registry.example/proxy:2")


def test_templates_that_replicas_reload_one_after_the_other(
    vault: str, total: int, start: Start, stream: Callable[..., Stream], behind_service: BehindService
) -> None:
    first = start(1, namespace=vault)
    second = start(1, first, vault)
    balancer, client_config = behind_service(vault, [first, second])

    def reload(server: InjectorServer, version: int) -> Callable[[], object]:
        def change() -> None:
            swaps = server.log.count("snapshot-swapped")
            write_template(server.templates_dir, version)
            eventually("it is in use", lambda: server.log.count("snapshot-swapped") > swaps)

        return change

    seen = stream(vault, client_config).during(
        reload(first, 2), reload(second, 2), reload(second, 1), reload(first, 1), total=total
    )
    assert {first.port, second.port} == set(balancer.given)
    assert_unnoticed(seen, total, "registry.example/proxy:1", "registry.example/proxy:2")


def test_settings_that_are_reloaded(
    control_plane: ControlPlane, vault: str, total: int, start: Start, stream: Callable[..., Stream]
) -> None:
    server = start(1, namespace=vault)

    def reload(level: str) -> Callable[[], object]:
        def change() -> None:
            swaps = server.log.count("snapshot-swapped")
            text = f"{{templates: [proxy], parameters: {{proxy: {{level: {level}}}}}, server: {{drainSeconds: 6.0}}}}"
            server.settings_file.write_text(text)
            eventually("they are in use", lambda: server.log.count("snapshot-swapped") > swaps)

        return change

    def level() -> str:
        made = control_plane.api.create(pod("last"), vault, dry_run=True)
        [proxy] = [one for one in made["spec"]["initContainers"] if one["name"] == "proxy"]
        return str(proxy["env"][0]["value"])

    seen = stream(vault, server.client_config).during(reload("debug"), reload("warning"), reload("error"), total=total)
    assert seen.refused == [] == seen.without
    assert seen.created >= total
    assert level() == "error"
