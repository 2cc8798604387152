"""The only module here that touches the injector: what goes in and what comes out are plain values.

A refactoring adapts this module alone. Messages never come out, only that there are so many of them: they may be put
in other words. Content hashes of templates and settings are taken out too, as any comment in a template changes them.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from injector.cli.main import main
from injector.inject import guard, inject, uninject
from injector.injection import Injection
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import gallery_path, read_gallery
from injector.pods.context import Cluster, Namespace, Object
from injector.pods.resource_kinds import Resource
from injector.policies.admit import admit
from injector.policies.request import asked_of
from injector.settings import parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot
from tests.corpus.commands import templates_loaded_once

__all__ = ["At", "Injector", "Output", "Result", "command", "gallery", "templates_loaded_once", "timeless"]

#: Name of a template to its files, name to text.
_Templates = dict[str, dict[str, str]]
#: Places of templates' hashes, of the snapshot's, and of a failure's words, as bytes of JSON within JSON or YAML.
_GENERATION = re.compile(rb'(generation\\*":\\*")[0-9a-f]{12,}')
_TEMPLATES = re.compile(rb'(templates\\*":\{)([^{}]*)\}')
_DIGEST = re.compile(rb"[0-9a-f]{12}")
_WORDS = re.compile(rb'(reason"(?:,"value")?:"[-a-z]+): (?:[^"\\]|\\.)*')
#: The key of all seals, and the period in which they are made.
_KEY = hashlib.sha256(b"sidecar-injector receipt\0akeythateverybodymayknow").digest()
_PERIOD = b"6000000"
#: What a receipt in a patch guarantees, and its seal.
_SEALED = re.compile(rb'(,\\"guaranteed\\":\[[^]]*\])?,\\"mac\\":(\\"[0-9a-f.]+\\")\}')


def timeless(data: bytes) -> bytes:
    """Bytes without hashes of templates and settings, and without the words behind a failure's reason."""
    data = _GENERATION.sub(rb"\1", data)
    data = _TEMPLATES.sub(lambda found: found[1] + _DIGEST.sub(b"", found[2]) + b"}", data)
    return _WORDS.sub(rb"\1", data)


# ------------------------------------------------------------------------------------------------- the core


@dataclass(frozen=True)
class Result:
    """What becomes of an object. `patch` and `files` are bytes, empty where there is none.

    `told` is everything in words, for those who look at one; it is never recorded.
    """

    reason: str
    effect: str
    code: int
    warnings: int
    patch: bytes
    files: bytes
    told: tuple[str, ...]
    _object: Object

    @property
    def object(self) -> Object:
        """The object as it leaves, through JSON, as objects travel."""
        parsed: Object = json.loads(json.dumps(self._object))
        return parsed


def _result(injection: Injection) -> Result:
    files = [file.to_object() for file in injection.files]
    return Result(
        reason=str(injection.reason),
        effect=str(injection.effect),
        code=0 if injection.allowed else injection.code,
        warnings=len(injection.warning_lines),
        patch=_as_recorded(timeless(msgspec.json.encode(injection.patch))) if injection.patch else b"",
        files=msgspec.json.encode(files) if files else b"",
        told=(injection.message, *injection.warning_lines),
        _object=injection.object,
    )


class _Seals:
    """Seals by a fixed key at a fixed time, over the text without hashes, in the form that is recorded."""

    def sign(self, namespace: str, text: str) -> str:
        receipt, _, parts = text.partition("\0")
        sealed = timeless(f"{receipt}{parts}".encode())
        message = b"\0".join((namespace.encode(), _PERIOD, sealed))
        return f"{_PERIOD.decode()}.{hmac.digest(_KEY, message, 'sha256').hex()[:32]}"

    def verify(self, namespace: str, text: str, seal: str) -> bool:
        return seal == self.sign(namespace, text)


def _as_recorded(patch: bytes) -> bytes:
    """A patch whose receipt has its seal where the recorded ones have it: as `seal`, before what is `guaranteed`."""
    return _SEALED.sub(rb',\\"seal\\":\2\1}', patch)


@functools.cache
def _all_templates() -> Snapshot:
    templates = read_gallery(gallery_path())
    return build_snapshot(parse_settings({"templates": []}), templates, Cluster(), load=load_shipped)


def gallery() -> tuple[str, ...]:
    """The names of the gallery's templates."""
    return tuple(template.name for template in _all_templates().catalog)


def _snapshot(settings: Object, version: tuple[int, int], templates: _Templates | None = None) -> Snapshot:
    first = _all_templates()
    sources = {template.name: template.sources for template in first.catalog} | (templates or {})
    return build_snapshot(parse_settings(settings), sources, Cluster(version), first)


def _namespace(namespace: Object) -> Namespace:
    """A Namespace, with `quotas` and `limitRanges` beside its metadata."""
    metadata = namespace["metadata"]
    quotas, limits = (tuple(namespace.get(field, ())) for field in ("quotas", "limitRanges"))
    return Namespace(metadata["name"], metadata["labels"], metadata["annotations"], quotas, limits)


class Injector:
    """The injector with these settings (as in the settings file), for an API server of a version.

    `templates` are others beside those of the gallery.
    """

    def __init__(self, settings: Object, version: tuple[int, int], templates: _Templates | None = None) -> None:
        self._snapshot = _snapshot(settings, version, templates)
        self._seals = _Seals()

    def inject(self, pod: Object, namespace: Object) -> Result:
        """What becomes of a pod that is created."""
        return _result(inject(pod, _namespace(namespace), self._snapshot, seals=self._seals))

    def guard(self, pod: Object, namespace: Object) -> Result:
        """What the guard of `required` namespaces says about a pod as it will be stored."""
        return _result(guard(pod, _namespace(namespace), self._snapshot, seals=self._seals))

    def uninject(self, pod: Object) -> Object:
        """The pod as it was."""
        return uninject(pod, self._snapshot.settings)


class At:
    """A path of the settings with these templates."""

    def __init__(self, templates: Sequence[str], settings: Object, policy: str = "Ignore") -> None:
        at = {"templates": list(templates), "failurePolicy": policy}
        self._snapshot = _snapshot({"templates": [], "paths": {"/at": at}, **settings}, (1, 36))
        self._at = self._snapshot.settings.paths["/at"]

    def ask(self, request: Object, namespace: Object) -> Result:
        """What becomes of an object: `request` has group, version, resource, operation, object, oldObject, userInfo."""
        resource = Resource(request["group"], request["version"], request["resource"])
        more = {"userInfo": request["userInfo"]}
        name = namespace["metadata"]["name"]
        asked = asked_of(request["object"], resource, name, request["operation"], request["oldObject"], more)
        return _result(admit(asked, _namespace(namespace), self._at, self._snapshot))


# ------------------------------------------------------------------------------------------------- the command line


@dataclass(frozen=True)
class Output:
    """How a command ended."""

    exit: int
    out: bytes
    err: str

    @property
    def objects(self) -> list[str]:
        """Of `--output json` of a command about manifests: outcome, reason and number of warnings of each."""
        try:
            lines = json.loads(self.err)["objects"]
        except (ValueError, KeyError):  # it ended before it had looked at any
            return []
        return [f"{o['outcome']} {o.get('reason', '-')} {len(o.get('warnings', ()))}" for o in lines]

    @property
    def findings(self) -> list[str]:
        """Of `--output json` of a command for authors: place, severity and rule of each problem, in order of places."""
        found = sorted(
            (p["file"], p["line"], p["column"], p["severity"], p["rule"]) for p in _problems(json.loads(self.out))
        )
        return ["{}:{}:{} {} {}".format(*place) for place in found]

    @property
    def refusals(self) -> list[str]:
        """Of a command for authors that ended with errors: place, severity and rule of each line that names them."""
        return [" ".join(found.groups()) for found in _PROBLEM.finditer(self.err)]


def _problems(data: Any) -> Iterator[Object]:
    """All problems of a report, those of templates and of their cases too."""
    if isinstance(data, list):
        for part in data:
            yield from _problems(part)
    elif isinstance(data, dict):
        if "rule" in data:
            yield data
        for part in data.values():
            yield from _problems(part)


#: The line about a problem as every command for authors writes it, with the template's folder before the place.
_PROBLEM = re.compile(r"^\./[^/:]*/?([^:\n]*(?::\d+:\d+)?): (error|warning): .* \[([-a-z]+)\]$", re.MULTILINE)


def command(*arguments: str, data: bytes = b"") -> Output:
    """Run `injector ARGUMENTS` in this process, with `data` as its standard input."""
    out, err, status = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        patch.delenv("INJECTOR_DEBUG", raising=False)
        try:
            main(list(arguments))
        except SystemExit as end:
            status = int(end.code or 0)
    out.flush()
    return Output(status, out.buffer.getvalue(), err.getvalue())
