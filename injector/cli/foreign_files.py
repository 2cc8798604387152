"""What people give in place of manifests: files of Kustomize, Helm, Jsonnet and Compose, and an empty file."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

from injector.cli.inputs import STDIN
from injector.diagnostics import Diagnostic, Place
from injector.errors import DocumentError
from injector.names import cut, flow_value, kind_of, nearest

_KUSTOMIZE = "kustomize.config.k8s.io/"
#: Languages that a program has to evaluate first, by the ends of their files' names.
_PROGRAMS = {
    (".jsonnet", ".libsonnet"): "this is Jsonnet; evaluate it first: jsonnet {} | injector inject -",
    (".cue",): "this is CUE; evaluate it first: cue export {} | injector inject -",
    (".tf", ".tfvars"): "this is Terraform, not a manifest",
    (".tgz", ".tar.gz"): "this is an archive; render a Helm chart first: helm template {} | injector inject -",
    (".tpl", ".gotmpl"): "this is a Helm template; render the chart first: helm template | injector inject -",
    (".j2",): "this is a part of a template; to see what it renders: injector render FOLDER",
}  # fmt: skip
_HELM = "render the chart first: helm template CHART | injector inject -"
#: Characters of parameters that are shown as the settings have them.
_LONGEST = 160
#: Lists that tell a Kustomization without a kind.
_KUSTOMIZATION = ("resources", "bases", "patches", "patchesStrategicMerge", "configMapGenerator", "secretGenerator")
#: Keys that tell what a document without a kind is.
_KEYS = (
    (("services",), "this is a Compose file; convert it first: kompose convert"),
    (("replicaCount", "nameOverride", "fullnameOverride", "global"), f"these are the values of a Helm chart; {_HELM}"),
    (("cases",), "these are cases of a template; run them with injector test"),
    (
        ("parameters", "files"),
        "this is the template.yaml of a template; to see what it renders: injector render FOLDER",
    ),
    (
        ("prefix", "namespaceLabel", "podDefault", "templates", "parameters", "neverSelector", "paths"),
        "these are settings of the injector; give them with --settings",
    ),
)


def foreign_source(name: str) -> str:
    """What to say about an input by the end of its name; "" for one that may be a manifest."""
    found = (words for ends, words in _PROGRAMS.items() if name.lower().endswith(ends))
    return next(found, "").format(name)


class _Document(Protocol):
    """What is asked of a document: it holds an object, or something else, at a place."""

    @property
    def source(self) -> str:
        """Its input."""

    @property
    def number(self) -> int:
        """Which of its input it is, from 1."""

    @property
    def line(self) -> int:
        """Its first line."""

    @property
    def before(self) -> str:
        """What stands before its value."""

    @property
    def text(self) -> str:
        """All of it."""

    @property
    def value(self) -> Any:
        """What it says."""


def check_documents(documents: Sequence[_Document], names: Collection[str]) -> None:
    """Refuse a file of `names` that holds no object but something else, and inputs that hold none at all.

    In a folder such a file is no error if other files have objects, and neither is such a document beside others.
    Raises DocumentError.
    """
    given = [document for document in documents if document.value is not None]
    foreign = [(document, words) for document in given if (words := foreign_object(document.value, document.source))]
    objects = Counter(document.source for document in given)
    objects.subtract(document.source for document, _ in foreign)
    for document, words in foreign:
        if not objects.total() or (not objects[document.source] and document.source in (*names, STDIN)):
            place = Place(document.source, document.line + document.before.count("\n"))
            raise DocumentError(f"{place}: {words}", Diagnostic("document", "error", words, place=place))
    if documents and not any(document.text for document in documents) and documents[0].source != STDIN:
        raise DocumentError(_emptied(documents[0].source))


def empty_inputs(documents: Sequence[_Document]) -> Iterator[str]:
    """A sentence for each input that holds nothing at all; where no input holds an object, one about them."""
    for document in documents:
        if document.number == 1 and not document.text:
            what = f"{STDIN}: it is empty; look at the command that writes it"
            yield what if document.source == STDIN else _emptied(document.source)
    blank = [document for document in documents if document.text]
    if blank and all(document.value is None for document in documents):
        yield f"{blank[0].source}: it holds no object"


def foreign_object(value: Any, name: str = "") -> str:
    """What to say about a document that is no Kubernetes object; "" for one that is. `name` is its file's."""
    base = posixpath.basename(name).lower()
    if not isinstance(value, dict):
        return f"a manifest is a mapping with apiVersion and kind, and this is {kind_of(value)}"
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.startswith(_KUSTOMIZE):
        return f"this is a {kind or 'Kustomization'}, not a manifest; {_build(name)}"
    if kind not in (None, ""):
        return ""
    named = base in ("kustomization.yaml", "kustomization.yml")
    if named or any(isinstance(value.get(key), list) for key in _KUSTOMIZATION):
        return f"this is a Kustomization, not a manifest; {_build(name)}"
    if base == "chart.yaml":
        return f"this is the Chart.yaml of a Helm chart, not a manifest; {_HELM}"
    image = value.get("image")
    if version is None and (given := _parameters_in(value)):
        what = f"write parameters in a settings file (--settings FILE), such as parameters: {given}"
        return f"these are values, not a manifest; {what}; to render a chart: helm template CHART | injector inject -"
    if version is None and ("values" in base or (isinstance(image, dict) and "repository" in image)):
        return f"these are the values of a Helm chart, not a manifest; {_HELM}"
    for keys, words in _KEYS:
        if version is None and any(key in value for key in keys):
            return words
    inner = [str(key) for key, one in value.items() if isinstance(one, dict) and {"apiVersion", "kind"} <= one.keys()]
    if version is None and inner:
        what = f"its objects are one level below ({', '.join(inner[:3])})"
        return (
            f"{what}; write each object as a separate document. With Jsonnet, return an array of the objects and use "
            "jsonnet -y"
        )
    near = nearest("kind", [key for key in value if isinstance(key, str) and value[key]])
    return (
        f"it has no kind, so it is not a Kubernetes object; {f'write kind, not {near}' if near else _with_kind(value)}"
    )


def _parameters_in(value: dict[Any, Any]) -> str:
    """The parameters that a document has under the names of templates, as settings have them; "" for none."""
    if not any(isinstance(inner, dict) for inner in value.values()) or "parameters" in value:
        return ""
    from injector.loading.shipped import load_shipped
    from injector.loading.template_folders import gallery_path, read_gallery

    found: dict[str, dict[str, Any]] = {}
    for name, sources in read_gallery(gallery_path()).items():
        template, inner = load_shipped(name, sources), value.get(name)
        for key, one in inner.items() if isinstance(inner, dict) else ():
            declared = nearest(key, template.parameters, cutoff=0.9) if isinstance(key, str) else None
            if declared is not None and not template.parameters[declared].secret:
                found.setdefault(name, {})[declared] = one
    return cut(flow_value(found), _LONGEST) if found else ""


def _emptied(name: str) -> str:
    """What to say about an input that holds nothing at all."""
    return (
        f"{name}: it is empty. If you redirect the output to the same file (> {name}), the shell empties the file "
        "first. Restore the file, then write to another file"
    )


def _build(name: str) -> str:
    folder = posixpath.dirname(name) or "."
    return f"build it first: kustomize build {folder} | injector inject -"


def _with_kind(value: Any) -> str:
    spec = value.get("spec")
    pod = isinstance(spec, dict) and "containers" in spec
    workload = isinstance(spec, dict) and "template" in spec
    example = "apiVersion: v1 and kind: Pod" if pod else "apiVersion: apps/v1 and kind: Deployment"
    return f"add {example}" if pod or workload else "a manifest has apiVersion and kind"
