"""The part of hostile values in text: in config files of each syntax, in variables, plain and within other text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial

from tests.baseline.case import Case, Object
from tests.baseline.entrances import Injector
from tests.baseline.generated import created
from tests.unit.templates.hostile import HOSTILE

#: A config file by its name, which says the syntax.
_FILES = {
    "app.ini": "[a]\nkey = {{ params.text | ini_value }}\n",
    "app.js": "const a = {{ params.text | json_quote }};\n",
    "app.json": '{"a": {{ params.text }}, "b": "x {{ params.text }} y", c: [{{ params.text }}]}\n',
    "app.txt": "a {{ params.text }} b\n",
    "app.yaml": "a: {{ params.text }}\nb: 'x {{ params.text }} y'\nc: |\n  {{ params.text }}\n  d\n",
    "nginx.conf": "add_header a {{ params.text | nginx_quote }};\n",
    "run.sh": "exec app {{ params.text | shell_quote }}\n",
}
_OVERLAY = """\
metadata:
  annotations: {text: {{ params.text }}}
spec:
  containers:
  - name: side
    image: registry.example/side:1
    args: ["{{ params.text }}", "--text={{ params.text }}"]
    env:
    - {name: TEXT, value: {{ params.text }}}
    volumeMounts: [{name: side, mountPath: /side}]
  volumes:
  - {name: side, configMap: {name: "{{ files.configmap }}"}}
"""
_NAMESPACE = {"metadata": {"name": "shop", "labels": {"injection": "enabled"}, "annotations": {}}}


def hostile() -> Iterator[Case]:
    """Each file with each value."""
    for file, source in _FILES.items():
        manifest = f"parameters: {{text: {{type: string}}}}\nfiles: {{{file}: {{}}}}\n"
        sources = {"template.yaml": manifest, "overlay.yaml.j2": _OVERLAY, f"{file}.j2": source}
        injector = Injector({"templates": ["side"]}, (1, 36), {"side": sources})
        for value in HOSTILE:
            digest = hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()[:6]
            pod = _pod(value)
            yield Case(f"{file} {value!a:.40} {digest}", (pod, _NAMESPACE), partial(created, injector, pod, _NAMESPACE))


def _pod(value: str) -> Object:
    annotations = {"side.sidecar.injector/text": value}
    containers = [{"name": "app", "image": "registry.example/app:1"}]
    return {"metadata": {"name": "web", "annotations": annotations}, "spec": {"containers": containers}}
