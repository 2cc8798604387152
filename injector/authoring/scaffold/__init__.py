"""A new template's files: those of a template that is there, under another name, with help for editors.

A template for other objects than pods is the starter of policies, for the resource that somebody names.

Only what is the template's own is renamed: containers, volumes and ports called after it, its annotations, its name in
lists of templates and in commands, its README's title. The program may have the same name (nginx), so its image, its
command, its paths and its config files stay.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from injector.authoring.cases.expected_files import golden_problem
from injector.authoring.cases.harness import CaseError, Harness
from injector.authoring.cases.suite import TESTS, read_suite
from injector.authoring.output_files import ScaffoldError
from injector.authoring.reference import BEGIN, with_section
from injector.authoring.schemas import schema_of
from injector.loading.template_folders import gallery_path, read_folder
from injector.names import flow_value
from injector.pods.resource_kinds import Resource, resource_of
from injector.templates.load import load_template
from injector.templates.parameter_values import value_of
from injector.templates.samples import sample_object
from injector.templates.template import FOR, MANIFEST, OVERLAY, UNSET, Template

#: The folders with the templates that a new one can start from.
SHAPES = Path(__file__).parent
#: The one that it starts from when nobody says which: small, plain, and complete.
STARTER = SHAPES / "starter"
#: The one for objects other than pods.
POLICY = SHAPES / "policy"

#: What tells a file of cases from the manifests and golden files beside it.
_CASES = re.compile(r"^cases:", re.MULTILINE)
_SCHEMA_LINE = re.compile(r"\A# yaml-language-server: [^\n]*\n")


def scaffold(name: str, original: Path, to: Target | None = None, image: str | None = None) -> dict[str, str]:
    """The files of a new template by their path within its folder: a copy of another's under this name.

    With `to` it is the starter of policies, for that resource. `image` becomes the default of its image parameter.

    Raises ScaffoldError where the name is too long for what is in the template and where a link leads out of it,
    TemplateError where the copy does not load, ValueError for an image that cannot be set.
    """
    cases = original / TESTS
    _refuse_links_out(original, (original, cases))
    files = read_folder(original)
    if cases.is_dir():
        files |= {f"{TESTS}/{file}": text for file, text in read_folder(cases).items()}
    files = renamed(files, original.resolve().name, name)
    if to is not None:
        files = retargeted(files, to)
    if image is not None:
        files = with_image(files, _load(name, files), image)
    for path, text in files.items():
        if path == MANIFEST:
            files[path] = _with_schema(text, ".schemas/template.json")
        elif path.startswith(f"{TESTS}/") and _CASES.search(text):
            files[path] = _with_schema(text, "../.schemas/case.json")
    template = _load(name, files)
    if BEGIN in files.get("README.md", ""):
        files["README.md"] = with_section(files["README.md"], template)
    for kind in ("template", "case"):
        files[f".schemas/{kind}.json"] = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
    return files


def _load(name: str, files: Mapping[str, str]) -> Template:
    return load_template(name, {path: text for path, text in files.items() if "/" not in path})


def _refuse_links_out(original: Path, folders: Iterable[Path]) -> None:
    """Refuse a template with links that lead out of its folder: their targets are not part of the template.

    Templates that come with the injector are accepted: some installers make their files links. Raises ScaffoldError.
    """
    home = original.resolve()
    if original.parent == SHAPES or home.parent == gallery_path().resolve():
        return
    for folder in folders:
        for file in (folder, *(sorted(folder.iterdir()) if folder.is_dir() else ())):
            try:
                within = file.resolve().is_relative_to(home)
            except RuntimeError:  # links in a circle
                within = False
            if not within:
                raise ScaffoldError(
                    f"{file} is a link that leads out of the template's folder; copy the file there first"
                )


def _with_schema(text: str, path: str) -> str:
    """A YAML file with the line at its top by which editors find its schema."""
    return f"# yaml-language-server: $schema={path}\n{_SCHEMA_LINE.sub('', text)}"


class Target(NamedTuple):
    """A resource, and the kind of its objects."""

    resource: Resource
    kind: str


#: Resources that people name without their group, with their kind: Kubernetes API reference, and OpenShift's projects.
_KNOWN = {
    name: Target(Resource(group, version, name), kind)
    for group, version, kinds in (
        ("", "v1", "ConfigMap Endpoints Namespace Node PersistentVolume PersistentVolumeClaim Pod Secret Service "
                   "ServiceAccount"),
        ("apps", "v1", "DaemonSet Deployment ReplicaSet StatefulSet"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("batch", "v1", "CronJob Job"),
        ("networking.k8s.io", "v1", "Ingress IngressClass NetworkPolicy"),
        ("policy", "v1", "PodDisruptionBudget"),
        ("project.openshift.io", "v1", "ProjectRequest"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRole ClusterRoleBinding Role RoleBinding"),
        ("storage.k8s.io", "v1", "StorageClass"),
    )
    for kind in kinds.split()
    for name in (resource_of({"apiVersion": f"{group}/{version}".lstrip("/"), "kind": kind}).name,)
}  # fmt: skip

#: What a pod needs, to be one.
_POD = ' spec: {containers: [{name: web, image: "web:1"}]},'


def target(text: str) -> Target:
    """What somebody means by `services`, `gateways.example.com` or `gateways.v1beta1.example.com`, as kubectl has it.

    Raises ValueError saying how it is written.
    """
    name, _, rest = text.partition(".")
    if not rest and name in _KNOWN:
        return _KNOWN[name]
    version, _, group = rest.partition(".")
    versions, groups, names = (FOR[key].word for key in ("apiVersions", "apiGroups", "resources"))
    if not versions.fullmatch(version):
        version, group = "v1", rest
    if "/" in name or not names.fullmatch(name) or not group or not groups.fullmatch(group):
        to_do = "write it in the plural and with its group, such as services, or gateways.example.com"
        below = "; add a subresource, such as pods/exec, to `resources` in template.yaml later"
        raise ValueError(to_do + (below if "/" in text else ""))
    target = _KNOWN.get(name)
    resource = Resource(group, version, name)
    kind = target.kind if target is not None and target.resource.group == group else sample_object(resource)["kind"]
    return Target(resource, kind)


def retargeted(files: Mapping[str, str], to: Target) -> dict[str, str]:
    """The files of the starter, for another resource than the Services that it is written for."""
    group, version, name = to.resource
    renamed = dict(files)
    renamed["template.yaml"] = re.sub(
        r"apiGroups: .*, resources: \[services\]",
        f"apiGroups: [{group or chr(34) * 2}], apiVersions: [{version}], resources: [{name}]",
        renamed["template.yaml"],
    )
    written = f"apiVersion: {f'{group}/{version}'.lstrip('/')}, kind: {to.kind},{_POD if to == _KNOWN['pods'] else ''}"
    return {path: text.replace("apiVersion: v1, kind: Service,", written) for path, text in renamed.items()}


def with_image(files: Mapping[str, str], template: Template, image: str) -> dict[str, str]:
    """The files of a template, with this image as the default of its one image parameter.

    Raises ValueError where it has not exactly one, and for what is no image.
    """
    parameters = [
        p for p in template.parameters.values() if p.schema.get("format") == "image" and p.default is not UNSET
    ]
    if len(parameters) != 1:
        names = ", ".join(parameter.name for parameter in parameters) or "none"
        raise ValueError(f"this template must have one parameter with a default image, and has {names}")
    [parameter] = parameters
    value_of(parameter, image)
    # in template.yaml, and in cases that expect it
    place = re.compile(rf"""(\b(?:default|image): *)(["']?){re.escape(str(parameter.default))}\2{_END}""", re.MULTILINE)
    return {path: place.sub(lambda match: match[1] + flow_value(image), text) for path, text in files.items()}


def write_goldens(folder: Path) -> None:
    """Write the golden file of each case that has one. Skips cases that cannot be run; `injector test` reports them.

    Raises DocumentError for a file that cannot be written, TemplateError for a template that does not load.
    """
    bench = Harness(folder, str(folder))
    for checked in read_suite(folder, str(folder)).cases:
        if (name := checked.case.expect.golden) is not None:
            with contextlib.suppress(CaseError):
                golden_problem(checked, name, bench.run(checked), bench.folder, update=True)


#: Kubernetes API reference: a port's name is an IANA service name, a container's and a volume's a DNS label.
_PORT, _LABEL = 15, 63

#: What a name in YAML is followed by.
_END = r"""(?=["'\s,}\]:]|$)"""
#: Where the template's own name stands and nothing else can be meant. NAME is the name.
_PLACES = (
    rf"""\bname: ["']?NAME{_END}""",  # a container: in overlays, and in cases
    r"(?<![\w./-])NAME\.sidecar\.injector/",  # an annotation
    r"sidecar\.injector/NAME\.",  # a config file in an annotation
    r"-NAME-(?=[0-9a-f]{10})",  # a generated ConfigMap
    r"^# NAME$",  # a title
    r"\btemplates/NAME\b(?!-)",
    r"\b(?:render|lint|test|docs) NAME\b(?!-)",  # a command
    r"--templates? NAME\b(?!-)",
    r"--param NAME\.",
    r"\bparameters: *(?:\{ *|\n +)NAME:",  # settings
)
#: The same in cases, which quote what the injector says.
_SAID = (
    r"\b(?:template|container|sidecar|volume) NAME(?![\w./-])",
    r"\bsidecar \((?:[-a-z0-9]+, )*NAME(?=[,)])",
)
#: A list of templates, in an annotation, in settings or in a case: the name may be anywhere in it.
_LIST = re.compile(r"""\btemplates["']?:[^\n#]*""")


def renamed(files: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The files' texts by path, with everything named after `old` named after `new`.

    Raises ScaffoldError where a container or volume would have a name that Kubernetes refuses.
    """
    overlay = "\n".join(text for path, text in files.items() if path == OVERLAY or path.startswith("_"))
    derived = rf"{re.escape(old)}(?:-[a-z0-9]+)+"
    names = set(re.findall(rf"""\bname: ["']?({derived}){_END}""", overlay))
    ports = set(re.findall(rf"""\bname: ["']?({derived})["']?, containerPort:""", overlay))
    mapping = {
        name: _derived(name.removeprefix(old), new, port=name in ports) for name in sorted(names, key=len, reverse=True)
    }
    return {path: _with_names(_with_name(path, text, old, new), mapping) for path, text in files.items()}


def _derived(rest: str, new: str, *, port: bool) -> str:
    """The name of a part that was named after the template and `rest`. That of a port is cut where it has to be."""
    if port:
        return new[: _PORT - len(rest)].rstrip("-") + rest
    if len(new + rest) > _LABEL:
        raise ScaffoldError(
            f"{new} is too long: {new}{rest} would have {len(new + rest)} characters; the limit is {_LABEL}"
        )
    return new + rest


def _with_name(path: str, text: str, old: str, new: str) -> str:
    """The text of a file with the template's bare name replaced."""
    name = re.escape(old)
    port = _derived("", new, port=True)
    if port != new and re.search(rf"""\bname: ["']?{name}["']?, containerPort:""", text):
        # a port that is called just so, and where it is meant
        text = re.sub(rf"""(\bname: ["']?){name}(?=["']?, containerPort:)""", rf"\g<1>{port}", text)
        text = re.sub(rf"""(\bport: ["']?){name}{_END}""", rf"\g<1>{port}", text)
    for place in (*_PLACES, *(_SAID if path.startswith(f"{TESTS}/") else ())):
        pattern = re.compile(place.replace("NAME", name), re.MULTILINE)
        text = pattern.sub(lambda match: new.join(match[0].rsplit(old, 1)), text)  # the last name in it
    word = re.compile(rf"(?<![\w./-]){name}(?![\w./-])")
    return _LIST.sub(lambda match: word.sub(new, match[0]), text)


def _with_names(text: str, mapping: Mapping[str, str]) -> str:
    """The text with whole names replaced; what is part of a path, of an image or of a longer name is none of them."""
    if not mapping:
        return text
    names = "|".join(re.escape(name) for name in sorted(mapping, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])(?:{names})(?![\w/-])", lambda match: mapping[match[0]], text)
