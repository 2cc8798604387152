"""Commands, options and inputs of kubectl, Helm, istioctl and other tools, and what to type in their place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from injector.advice.words import by_word
from injector.names import did_you_mean, kind_of, nearest
from injector.pods.context import mapping

_INJECT = "to put sidecars into manifests: injector inject FILE"
_APPLY = "injector inject does not change a cluster; to apply its output: injector inject FILE | kubectl apply -f -"
_RENDER = "to see what a template makes of a pod: injector render TEMPLATE FILE"
_LIST = "to list pods with their sidecars: injector list"
_WHY = "to see why a pod has, or has not, a sidecar: injector explain pod/NAME"
_BUILD = "build it first: kustomize build DIR | injector inject -"
#: Commands of those programs.
_COMMANDS = by_word(
    {
        "kube-inject add": _INJECT,
        "apply": _APPLY,
        "remove delete": "to take sidecars out of manifests: injector uninject FILE",
        "template": f"{_INJECT}; {_RENDER}",
        "build kustomize": _BUILD,
        "diff": "to see what would change: injector inject --diff FILE",
        "validate analyze": "for templates: injector lint DIR; for manifests and policies: injector check-manifests "
        "--settings FILE FILE; for a cluster: injector check",
        "status": "to check an installation: injector check",
        "get describe": f"{_LIST}; {_WHY}",
        "version": "run injector --version",
        "create init": "to start a template: injector new NAME",
        "install upgrade": "the chart installs it: helm upgrade --install sidecar-injector ... (docs/installing.md); "
        "to check an installation: injector check",
        "uninstall": "run helm uninstall sidecar-injector; to switch the injector off without uninstalling: "
        "injector pause",
    }
)
_FILES = "this command reads manifests, not a cluster; run kubectl get deploy NAME -o yaml | injector inject -"
#: Options of those programs: ours, of which the first that the command has is named, or else what to type.
_OPTIONS: dict[str, tuple[str, ...]] = by_word(
    {
        "--set -p": ("--param", "set parameters in the case, `params: {NAME: VALUE}`"),
        "--values": ("--settings",),
        "--template": ("--templates",),
        "-i -w --write": ("--in-place", "--write", "--watch"),
        "--kube-version": ("--kubernetes-version",),
        "-k": (_BUILD,),
        "-R --recursive": ("remove it: a folder is always searched recursively",),
        "-A -l": ("--all-namespaces", _FILES),
        "--dry-run": ("--diff", "leave it out: nothing here changes a cluster"),
        "-v --verbose": ("injector explain FILE shows each step",),
        "--kubeconfig --context": (_FILES,),
        "-f --filename": ("give FILE as an argument, without an option",),
        "--version": ("run injector --version",),
    }
)
#: Commands that write manifests.
_WRITERS = ("inject", "uninject")
_MANIFESTS = (".yaml", ".yml", ".json")


def command_help(name: str, commands: Sequence[str]) -> str:
    """What to say about a command that there is not: what to type, the nearest name, or all that there are."""
    if name.lower() in _COMMANDS:
        return _COMMANDS[name.lower()]
    if Path(name).suffix.lower() in _MANIFESTS or Path(name).is_dir():
        return f"run injector inject {name}"
    near = nearest(name, commands)
    return did_you_mean(near, f"the commands are {', '.join(commands)}")


def option_words(error: click.NoSuchOption) -> str:
    """What to say about an option that there is not; "" where click's own words do."""
    option, context = error.option_name, error.ctx
    if context is None:
        return ""
    if isinstance(context.command, click.Group):
        own = {name for parameter in context.command.params for name in parameter.opts}
        near = nearest(option, own)
        return "" if near else f"No such option '{option}'. Options come after a command: injector inject {option} ..."
    if option in ("-o", "--output"):
        return f"No such option '{option}'. {_output(context)}"
    own = {name for parameter in context.command.params for name in parameter.opts}
    for instead in _OPTIONS.get(option, ()):
        if instead in own:
            return f"No such option '{option}'. Did you mean '{instead}'?"
        if not instead.startswith("-"):
            return f"No such option '{option}'; {instead}"
    return ""


def _output(context: click.Context) -> str:
    """What --output is in this command."""
    option = next((parameter for parameter in context.command.params if "--output" in parameter.opts), None)
    if option is None or context.info_name in _WRITERS:
        return "The output goes to standard output, as YAML or JSON like the input; to write to a file, add > FILE."
    kinds = option.type.choices if isinstance(option.type, click.Choice) else (option.make_metavar(context),)
    return f"Write --output FORM: {', '.join(map(str, kinds))}."


#: Kinds as kubectl takes them.
_KINDS = (
    r"(?i:po|pods?|deploy|deployments?|sts|statefulsets?|ds|daemonsets?|rs|replicasets?|jobs?|cj|cronjobs?|svc|services?"
    r"|cm|configmap|secret|ns|namespaces?)"
)
_KIND = re.compile(_KINDS)
_LIVE = re.compile(rf"{_KINDS}(?:\.[a-z0-9.-]+)?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_PARAMETER = re.compile(r"[a-z][-a-z0-9]*\.[A-Za-z][-A-Za-z0-9_]*=.*")
#: Names in a folder that a missing one is compared with.
_COMPARED = 1000


def missing_help(name: str, command: str, rest: str = "NAME") -> str:
    """What to type in place of an input that is not there, in a command; "" where nothing can be said.

    `rest` is what was typed behind it: the name behind a kind.
    """
    from injector.loading.template_folders import gallery_path, templates_in

    live = _LIVE.fullmatch(name)
    if live or _KIND.fullmatch(name):
        target = name if live else f"{name} {rest}"
        return f"this command reads files, not a cluster: run kubectl get {target} -o yaml | injector {command} -"
    if _PARAMETER.fullmatch(name):
        return f"a parameter is written --param {name}"
    template, dot, _ = name.partition(".")
    if dot and _KIND.fullmatch(template) and Path(name).suffix not in _MANIFESTS:
        return f"for the fields of an object, run kubectl explain {name}"
    if "/" not in name and template in templates_in(gallery_path()):
        if dot and Path(name).suffix not in _MANIFESTS:
            return f"for the parameters of a template, run injector docs {template}"
        if not dot:
            return f"to use a template, add --templates {name}; for its parameters, run injector docs {name}"
    near = nearest(Path(name).name, _beside(Path(name)), cutoff=0.75)
    return f"did you mean {Path(name).with_name(near)}?" if near else ""


def _beside(file: Path) -> list[str]:
    try:
        return [neighbour.name for neighbour, _ in zip(file.parent.iterdir(), range(_COMPARED), strict=False)]
    except (OSError, ValueError):
        return []


_HELM = "render the chart first: helm template CHART | injector inject -"
#: What is no manifest by the end of a file's name.
_PROGRAMS = {
    (".tgz", ".tar.gz"): "this is an archive; render a Helm chart first: helm template {} | injector inject -",
    (".tpl", ".gotmpl"): "this is a Helm template; render the chart first: helm template | injector inject -",
    (".j2",): "this is a part of a template; to see what it renders: injector render FOLDER",
}
#: Lists that tell a Kustomization without a kind.
_KUSTOMIZATION = ("resources", "bases", "patches", "patchesStrategicMerge", "configMapGenerator", "secretGenerator")
#: Keys that tell what a document without a kind is.
_KEYS = by_word(
    {
        "services": "this is a Compose file; convert it first: kompose convert",
        "openapi swagger": "this is an OpenAPI document, not a manifest",
        "replicaCount nameOverride fullnameOverride global": f"these are the values of a Helm chart; {_HELM}",
        "cases": "these are cases of a template; run them with injector test",
        "parameters files": "this is the template.yaml of a template; to see what it renders: injector render FOLDER",
        "prefix namespaceLabel podDefault templates neverSelector paths": "these are settings of the injector; give "
        "them with --settings",
    }
)


def foreign_source(name: str) -> str:
    """What to say about an input by the end of its name; "" for one that may be a manifest."""
    matching = (text for ends, text in _PROGRAMS.items() if name.lower().endswith(ends))
    return next(matching, "").format(name)


def foreign_object(value: Any, name: str = "") -> str:
    """What to say about a document that is no Kubernetes object; "" for one that is. `name` is its file's."""
    base = posixpath.basename(name).lower()
    if not isinstance(value, dict):
        return f"a manifest is a mapping with apiVersion and kind, and this is {kind_of(value)}"
    version, kind = value.get("apiVersion"), value.get("kind")
    if kind not in (None, "") and not str(version).startswith("kustomize.config.k8s.io/"):
        return ""
    if kind or base.startswith("kustomization.") or any(isinstance(value.get(key), list) for key in _KUSTOMIZATION):
        return f"this is a {kind or 'Kustomization'}, not a manifest; {_build(name)}"
    if base == "chart.yaml":
        return f"this is the Chart.yaml of a Helm chart, not a manifest; {_HELM}"
    known = [text for key, text in _KEYS.items() if version is None and key in value]
    if known or "values" in base or "repository" in mapping(value.get("image")):
        return next(iter(known), f"these are the values of a Helm chart, not a manifest; {_HELM}")
    near = nearest("kind", [key for key in value if isinstance(key, str) and value[key]])
    to_do = f"write kind, not {near}" if near else _with_kind(mapping(value.get("spec")))
    return f"it has no kind, so it is not a Kubernetes object; {to_do}"


def _build(name: str) -> str:
    folder = posixpath.dirname(name) or "."
    return f"build it first: kustomize build {folder} | injector inject -"


def _with_kind(spec: dict[Any, Any]) -> str:
    if "containers" in spec:
        return "add apiVersion: v1 and kind: Pod"
    return (
        "add apiVersion: apps/v1 and kind: Deployment" if "template" in spec else "a manifest has apiVersion and kind"
    )
