"""A running server as `injector serve --standalone` makes it, with templates of the tests' own."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from injector.loading import trial
from injector.telemetry import LogOutput
from injector.webhook.app import App, ServeOptions
from tests import command, silence
from tests.unit.webhook.support import Loop, lines_of, make_certificate, running_loop

TEMPLATE = {
    "template.yaml": "description: A proxy for tests.\nparameters:\n"
    "  image: {type: string, format: image, default: 'registry.example/proxy:1', description: Its image.}\n",
    "overlay.yaml.j2": 'spec:\n  containers:\n    - name: proxy\n      image: "{{ params.image }}"\n',
}

#: In a run whose processes all say x, the child is one that does.
_WORDLESS = silence.silent()


def write_template(folder: Path, name: str = "proxy", **files: str) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    for file, text in {**TEMPLATE, **files}.items():
        (folder / name / file).write_text(text)


class Served:
    """An App in a loop of its own."""

    def __init__(
        self, loop: Loop, folder: Path, settings: str = "", mounted: Path | None = None, **options: Any
    ) -> None:
        self.loop = loop
        self.folder = folder
        self.log = io.BytesIO()
        certificates = mounted or folder / "certs"
        if mounted is None:
            make_certificate(certificates)
        if not (folder / "templates").exists():
            write_template(folder / "templates")
        self.settings = folder / "settings.yaml"
        self.settings.write_text(
            "templates: [proxy]\nserver: {address: 127.0.0.1, port: 0, metricsPort: 0, drainSeconds: 0.5,"
            f" certificate: {certificates}/tls.crt, key: {certificates}/tls.key}}\n{settings}"
        )
        options = {"standalone": True, **options}

        async def start() -> App:
            app = App(ServeOptions(self.settings, (folder / "templates",), **options), LogOutput(self.log))
            await app.start()
            return app

        self.app: App = loop.run(start())
        self.port, self.admin_port = self.app.ports
        self._waiting = loop.submit(self.app.wait())

    def until(self, true: Callable[[], Any], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)

    def ready(self) -> Served:
        self.until(lambda: self.app.snapshots.ready and not self.app.readiness())
        return self

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        self.loop.call(self.app.output.flush)
        return [line for line in lines_of(self.log) if not event or line["event"] == event]

    def stop(self) -> None:
        self.loop.call(self.app.drain.requested.set)
        self._waiting.result(300)


@pytest.fixture(autouse=True)
def forked_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each server tries its templates when it starts, and when they change."""
    if not _WORDLESS:
        monkeypatch.setattr(trial, "subprocess", command.Trials)


@pytest.fixture
def loop() -> Iterator[Loop]:
    with running_loop() as running:
        yield running


@pytest.fixture
def served(loop: Loop, tmp_path: Path) -> Iterator[Served]:
    app = Served(loop, tmp_path)
    yield app.ready()
    app.stop()
