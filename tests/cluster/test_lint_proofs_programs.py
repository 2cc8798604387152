"""What the linter's documentation calls bad is bad: the real programs show it, where the API server sees nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from injector.authoring.lint.rule import rules
from tests import parts
from tests.authoring.lint.support import found, write
from tests.cluster.lint_examples import Example, proves
from tests.cluster.objects import pod
from tests.cluster.processes import Process, ProcessError, free_port

_EVERYWHERE = "127.0.0.2"  #: an address of this machine that is not 127.0.0.1, as a pod's own is not
_REQUEST_SECONDS = 0.5  #: how long the app takes over its last request


@proves("validate-missing")
def test_validate_missing(tmp_path: Path) -> None:
    nginx = parts.require("nginx")
    written = {}
    for which in ("bad", "good"):
        written[which] = tmp_path / f"{which}.conf"
        written[which].write_text(Example("validate-missing", which).files(pod("web"))["nginx.conf"])
    assert Example("validate-missing", "bad").validate("nginx.conf") == (), "so nobody asks nginx"
    program, *arguments = Example("validate-missing", "good").validate("nginx.conf")
    assert program == "nginx"
    for which, said in (("bad", 'unknown directive "client_max_bodysize"'), ("good", "")):
        command = [str(nginx), *(word.replace("{path}", str(written[which])) for word in arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert said in done.stderr and (done.returncode == 0) is (which == "good"), done.stderr


@pytest.mark.parametrize(("which", "said"), [("bad", "hi\nand this ran too\n"), ("good", None)])
@proves("shell-injection")
def test_shell_injection(which: str, said: str | None) -> None:
    greeting = "hi'; echo 'and this ran too"
    given = pod("web", annotations={"tool.sidecar.injector/greeting": greeting})
    tool = Example("shell-injection", which).inject(given).object["spec"]["initContainers"][0]
    command = [*tool["command"], *tool["args"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == (said or f"{greeting}\n")


@pytest.mark.parametrize(("which", "answers"), [("bad", False), ("good", True)])
@proves("bind-address")
def test_bind_address(which: str, answers: bool, tmp_path: Path) -> None:
    nginx, port = parts.require("nginx"), free_port()
    text = Example("bind-address", which).files(pod("web"))["nginx.conf"].replace("18081", str(port))
    config = tmp_path / "nginx.conf"
    config.write_text(f"daemon off; pid {tmp_path}/pid; error_log stderr;\n{text}")
    process = Process([nginx, "-e", "stderr", "-p", tmp_path, "-c", config], tmp_path / "log", None, tmp_path)
    try:
        process.wait_until_ready(lambda: _connects("127.0.0.1", port))
        assert _connects(_EVERYWHERE, port) is answers
    finally:
        process.kill()


@pytest.mark.parametrize(("which", "outcome"), [("bad", "closed"), ("good", "the app")])
@proves("envoy-config")
def test_envoy_config(which: str, outcome: str, tmp_path: Path) -> None:
    example = Example("envoy-config", which)
    program, *arguments = example.validate("envoy.yaml")
    assert program == "envoy"
    config = yaml.safe_load(example.files(pod("web"))["envoy.yaml"])
    assert _run_envoy(config, arguments, tmp_path) == outcome


def _no_filter(listener: Any, _: Any) -> None:
    typed = {"@type": _HTTP, "stat_prefix": "inbound", "route_config": {"virtual_hosts": []}}
    listener["filter_chains"][0]["filters"] = [{"name": "http", "typed_config": typed}]


def _nobodys_address(listener: Any, _: Any) -> None:
    listener["address"]["socket_address"]["address"] = "10.123.1.1"


def _no_original_destination(_: Any, cluster: Any) -> None:
    del cluster["load_assignment"]
    cluster |= {"type": "ORIGINAL_DST", "lb_policy": "CLUSTER_PROVIDED"}


_HTTP = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_MISTAKES: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    "no filter": (_no_filter, "silence"),
    "an address of nobody": (_nobodys_address, "ended"),
    "no original destination": (_no_original_destination, "closed"),
}


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_more_that_envoy_accepts(mistake: str, tmp_path: Path) -> None:
    example = Example("envoy-config", "good")
    config = yaml.safe_load(example.files(pod("web"))["envoy.yaml"])
    change, outcome = _MISTAKES[mistake]
    change(config["static_resources"]["listeners"][0], config["static_resources"]["clusters"][0])
    files = {**rules()["envoy-config"].documentation.good, "envoy.yaml.j2": yaml.safe_dump(config)}
    assert [p.code for p in found(write(tmp_path, files)) if p.code in ("template", "envoy-config")] == ["envoy-config"]
    assert _run_envoy(config, list(example.validate("envoy.yaml"))[1:], tmp_path) == outcome


def test_second_listener_of_a_name_is_ignored(tmp_path: Path) -> None:
    config = yaml.safe_load(Example("envoy-config", "good").files(pod("web"))["envoy.yaml"])
    (listener,) = config["static_resources"]["listeners"]
    second = yaml.safe_load(yaml.safe_dump(listener))
    second["address"]["socket_address"]["port_value"] = other = free_port()
    config["static_resources"]["listeners"].append(second)
    files = {**rules()["envoy-config"].documentation.good, "envoy.yaml.j2": yaml.safe_dump(config)}
    assert [p.code for p in found(write(tmp_path, files)) if p.code in ("template", "envoy-config")] == ["envoy-config"]
    arguments = list(Example("envoy-config", "good").validate("envoy.yaml"))[1:]
    assert _run_envoy(config, arguments, tmp_path, lambda: not _connects("127.0.0.1", other)) == "the app"


def _run_envoy(config: Any, validate: list[str], folder: Path, also: Callable[[], bool] = lambda: True) -> str:
    """What a caller of the first listener gets from Envoy with this configuration, which its validate accepts."""
    envoy, port = parts.require("envoy"), free_port()
    listener, (cluster,) = config["static_resources"]["listeners"][0], config["static_resources"]["clusters"]
    listener["address"]["socket_address"]["port_value"] = port
    with _app(b"the app", threading.Event()) as app_port:
        if "load_assignment" in cluster:
            (endpoint,) = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
            endpoint["endpoint"]["address"]["socket_address"]["port_value"] = app_port
        file = folder / "envoy.yaml"
        file.write_text(yaml.safe_dump(config))
        command = [str(envoy), *(word.replace("{path}", str(file)) for word in validate)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, "what validate says: nothing is wrong"
        running: list[str | Path] = [envoy, "-c", file, "--concurrency", "1", "--disable-hot-restart"]
        process = Process(running, folder / "log", None, folder)
        try:
            process.wait_until_ready(lambda: _connects("127.0.0.1", port))
            assert also()
            with closing(socket.create_connection(("127.0.0.1", port), 5)) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: app\r\n\r\n")
                return client.recv(100).decode() or "closed"
        except TimeoutError:
            return "silence"
        except ConnectionResetError:
            return "closed"
        except ProcessError:
            assert process.popen.poll() is not None
            return "ended"
        finally:
            process.kill()


@proves("mount-hides")
def test_mount_hides(tmp_path: Path) -> None:
    nginx = parts.require("nginx")
    if os.geteuid() != 0 and not parts.in_ci():
        pytest.skip("mounts need root: run this test with sudo")
    (tmp_path / "nginx.conf").write_text("error_log stderr; pid nginx.pid; events {}\n")
    # in mounts of its own, where /etc is a copy of this machine's: an empty volume at the example's path, then nginx
    script = (
        'cp -a /etc "$1/etc"; mount --bind "$1/etc" /etc; mkdir -p "$2"; mount -t tmpfs none "$2"; exec "$0" -t -p "$1"'
    )
    said = {}
    for which in ("bad", "good"):
        folder = tmp_path / which
        folder.mkdir()
        (path,) = _mount_paths(which)
        command = [
            "unshare",
            "--mount",
            "sh",
            "-ec",
            f"{script} -c ../nginx.conf -e stderr",
            str(nginx),
            str(folder),
            path,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        said[which] = done.returncode, done.stderr
    assert said["bad"][0] != 0 and 'getpwnam("nobody") failed' in said["bad"][1], "its users were in /etc"
    assert said["good"][0] == 0, said["good"][1]


def _mount_paths(which: str) -> list[str]:
    made = Example("mount-hides", which).inject(pod("web")).object
    sidecar = made["spec"]["initContainers"][0]
    return [mount["mountPath"] for mount in sidecar["volumeMounts"]]


@pytest.mark.parametrize(("which", "answered"), [("bad", False), ("good", True)])
@proves("termination")
def test_termination(which: str, answered: bool, tmp_path: Path) -> None:
    made = Example("termination", which, native_sidecars="never").inject(pod("web")).object
    (proxy,) = [container for container in made["spec"]["containers"] if container["name"] == "proxy"]
    hook = proxy.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    nginx, port, asked = parts.require("nginx"), free_port(), threading.Event()
    with _app(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nthe app", asked, _REQUEST_SECONDS) as app_port:
        config = tmp_path / "nginx.conf"
        forward = f"listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{app_port}; }}"
        config.write_text(f"daemon off; pid {tmp_path}/pid; events {{}} http {{ server {{ {forward} }} }}")
        process = Process([nginx, "-e", "stderr", "-p", tmp_path, "-c", config], tmp_path / "log", None, tmp_path)
        try:
            process.wait_until_ready(lambda: (tmp_path / "pid").exists() and _connects("127.0.0.1", port))
            with closing(socket.create_connection(("127.0.0.1", port), 60)) as client:
                client.sendall(b"GET / HTTP/1.0\r\n\r\n")
                assert asked.wait(300), "the request is with the app"
                time.sleep(
                    min(hook, 2 * _REQUEST_SECONDS)
                )  # as kubelet does once the pod is deleted: hook, then signal
                process.popen.terminate()
                assert (b"the app" in client.recv(1000)) is answered
        finally:
            process.kill()


def _connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 2).close()
    except OSError:
        return False
    return True


@contextmanager
def _app(answer: bytes, asked: threading.Event, seconds: float = 0) -> Iterator[int]:
    """Something that answers the same to whoever asks, after some seconds; its port. `asked` is set before."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with closing(client), suppress(OSError):
                    if client.recv(1000):
                        asked.set()
                        time.sleep(seconds)
                        client.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
