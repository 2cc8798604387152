"""What an import leaves: the template's folder with its files and a case, and what goes into the settings."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.programs import Programs
from injector.authoring.cases.run import Ways, inject_case
from injector.authoring.cases.suite import TESTS, read_suite
from injector.authoring.importing.sidecar import Sidecar
from injector.authoring.importing.sidecar_overlay import (
    Delivered,
    overlay_text,
    sidecar_containers,
    source_of,
    value_text,
)
from injector.authoring.importing.source import RULE
from injector.authoring.lint.sample_pods import SAMPLE
from injector.authoring.reference import BEGIN, END, code, with_section
from injector.authoring.refusal_location import path_in
from injector.diagnostics import Diagnostic
from injector.errors import InjectorError
from injector.pods.context import Object, filled
from injector.pods.fields import POD, Field
from injector.templates.load import load_template
from injector.templates.template import MANIFEST, OVERLAY
from injector.templates.yaml_writer import dump


def settings_for(templates: Sequence[Imported]) -> str:
    """The settings as YAML, with what each line is for.

    The names in them are those that most users of the two forms have.
    """
    with_name = [t for t in templates if t.sidecar.name]
    plain = [t.name for t in templates if not t.sidecar.name]
    kept = _NATIVE if any(t.sidecar.spec.get("containers") for t in templates) else _NEVER
    if with_name and not plain:
        return _NAMED + kept
    listed = f"templates: [{', '.join(dump(name).strip() for name in plain)}]"  # `1` and `on` are no texts
    return _PLAIN.replace("TEMPLATES", f"{listed:43} # what they get") + kept + (_BOTH if with_name else "")


_NAMED = """\
prefix: injector.tumblr.com                # what is before the slash in your pods' annotations
templatesKey: injector.tumblr.com/request  # the annotation in which a pod names its sidecars
podDefault: named                          # only pods that have this annotation or say yes
templates: []
"""
_PLAIN = """\
prefix: sidecar-injector-webhook.morven.me  # what is before the slash in your pods' annotations
namespaceLabel: {key: sidecar-injector}     # your namespaces' label
podDefault: skip                            # only pods whose annotation says yes
TEMPLATES
"""
#: Where the sidecars are plain containers, a pod that completes waits for them forever; without any, only the order of
#: the set-up differs.
_NATIVE = """\
# with nativeSidecars: never they are plain containers, as with your old injector, and keep Jobs from completing
"""
_NEVER = """\
nativeSidecars: never                       # set-up comes last, as with your old injector
"""
_BOTH = "# if pods name a config in an annotation: add templatesKey: PREFIX/request, and change podDefault to named\n"


#: The file of the case.
CASE = f"{TESTS}/imported.yaml"


class Imported(NamedTuple):
    """A template made of a config: its name, its files by path, and what people do to get it."""

    name: str
    files: dict[str, str]
    sidecar: Sidecar


def folder_of(name: str, sidecar: Sidecar, delivered: Delivered, problems: list[Diagnostic]) -> Imported | None:
    """The template's files. None, with the reason among the problems, where it would not serve any pod."""
    config = sidecar.config
    files = {
        MANIFEST: _manifest(sidecar, delivered),
        OVERLAY: overlay_text(sidecar, delivered.volumes),
        **delivered.sources,
        CASE: value_text({"cases": [_case(sidecar, delivered)]}),
    }
    try:
        template = load_template(name, {path: text for path, text in files.items() if "/" not in path})
        files["README.md"] = with_section(_readme(name, sidecar, delivered), template)
        causes = _causes(name, files)
    except InjectorError as error:
        causes = [Diagnostic(RULE, "error", str(error))]
    for cause in causes:
        steps = (*config.steps, *path_in({"spec": config.value}, cause)[1:])
        message = f"the template made from this config does not work for a pod: {cause.headline}"
        problems.append(config.source.problem(steps, message))
    return None if causes else Imported(name, files, sidecar)


def _causes(name: str, files: dict[str, str]) -> list[Diagnostic]:
    """Why the template's own case does not pass; nothing where it does."""
    with tempfile.TemporaryDirectory(prefix="injector-import-") as parent:
        folder = Path(parent) / name
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        suite = read_suite(folder, name)
        bench, ways = Harness(folder, name), Ways(Programs())
        results = [inject_case(bench, checked, ways)[0] for checked in suite.cases]
        faults = [*suite.problems, *(problem for result in results for problem in result.problems)]
    return [problem for problem in faults if problem.code != "decision"][:3] or faults  # which says that it failed


def _manifest(sidecar: Sidecar, delivered: Delivered) -> str:
    names = [container["name"] for container in sidecar.containers]
    contents = f"containers {', '.join(names)}" if len(names) > 1 else f"container {names[0]}" if names else "settings"
    files = {file: {"template": source_of(file)} for file in delivered.files}
    description = f"The {contents} of a sidecar config."
    return value_text({"description": description, **filled({"files": files}), "hostNetwork": "inject"})


def _case(sidecar: Sidecar, delivered: Delivered) -> Object:
    """The case: the usual Deployment, with the volumes that the config leaves to its pods."""
    template, name = SAMPLE["spec"]["template"], _free_name(sidecar)
    app = {**template["spec"]["containers"][0], "name": name, "ports": [{"containerPort": _free_port(sidecar)}]}
    volumes = [{"name": volume, "emptyDir": {}} for volume in _brought(sidecar)]
    spec = {"containers": [app], **filled({"volumes": volumes})}
    return {
        "name": "a pod gets what was in the config",
        "settings": {"nativeSidecars": "never"},
        "pod": {**SAMPLE, "spec": {"template": {**template, "spec": spec}}},
        "expect": {
            "decision": "injected",
            "pod": _pruned(_expected(sidecar, name, delivered.volumes), POD),
            **filled({"files": {file: [text] for file, text in delivered.files.items() if text}}),
        },
    }


def _free_name(sidecar: Sidecar) -> str:
    """A name for the app's container that none of the config's has."""
    used = {container["name"] for container in sidecar.containers}
    return next(name for name in ("web", *(f"web-{n}" for n in range(2, len(used) + 3))) if name not in used)


def _free_port(sidecar: Sidecar) -> int:
    """A port for the app that none of the config's containers has: the containers of a pod share their ports."""
    used = {port.get("containerPort") for container in sidecar.containers for port in container.get("ports", ())}
    return next(port for port in range(8080, 8081 + len(used)) if port not in used)


def _brought(sidecar: Sidecar) -> list[str]:
    """The volumes that are mounted and that the config has not."""
    own = {volume["name"] for volume in sidecar.spec.get("volumes", ())}
    lists = ("volumeMounts", "volumeDevices")
    items = [item for list_ in lists for container in sidecar.containers for item in container.get(list_, ())]
    return [name for name in dict.fromkeys(item["name"] for item in (*sidecar.mounts, *items)) if name not in own]


def _expected(sidecar: Sidecar, app: str, delivered: Collection[str]) -> Object:
    """The part of the pod that has to be there, from the config and not from the overlay."""
    every = {"env": sidecar.env, "volumeMounts": sidecar.mounts}
    spec = {
        **sidecar.spec,
        **filled({"serviceAccountName": sidecar.service_account}),
        "initContainers": sidecar_containers(sidecar, "initContainers"),
        "containers": [{"name": app, **every}, *sidecar_containers(sidecar, "containers")],
        "volumes": [v if v["name"] not in delivered else {"name": v["name"]} for v in sidecar.spec.get("volumes", ())],
    }
    return {"metadata": sidecar.metadata, "spec": spec}


def _pruned(value: Any, field: Field) -> Any:
    """The value without fields that mean nothing to Kubernetes: the injector adds no such field to a pod."""
    if isinstance(value, list):
        return [_pruned(item, field.element) for item in value]
    if not isinstance(value, dict):
        return value
    pruned = {key: _pruned(item, field.fields[key]) for key, item in value.items()}
    return {
        key: item
        for key, item in pruned.items()
        if not field.fields[key].means_nothing(item) and not (item == {} and key in ("resources", "metadata"))
    }


def _readme(name: str, sidecar: Sidecar, delivered: Delivered) -> str:
    lines = [f"# {name}", "", "Imported from a sidecar config of another injector by `injector import`.", ""]
    if sidecar.name:
        lines += [
            (
                f"A pod gets this template by its name in the old config: write {code(sidecar.name)} in the pod's "
                "annotation whose key is the setting `templatesKey`."
            ),
            "",
        ]
    lines += ["If a pod already has something with the same name, the pod's own is kept, and a warning says so."]
    if sidecar.env or sidecar.mounts:
        lines += ["The variables and mounts for all containers are for init containers too."]
    if sidecar.service_account:
        lines += [f"Pods with the service account `default` get {code(sidecar.service_account)}."]
    if brought := _brought(sidecar):
        lines += [f"Pods must define the volumes {', '.join(map(code, brought))} themselves."]
    if delivered.files:
        lines += ["The template includes its config files, so namespaces no longer need a ConfigMap with these files."]
    return "\n".join([*lines, "", BEGIN, "", END, ""])
