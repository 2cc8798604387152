"""Templates of a namespace's own: ConfigMaps there, for the pods there that name them as `./name`, and for no others.

Who may write a ConfigMap need not be allowed to write pods. So a team's template makes nothing that the author of the
pod that names it could not have written, and less: parts of its own alone, no privilege beyond Pod Security
(`baseline` where the namespace has no level), no part in what is `required`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from injector.diagnostics import Key, Path
from injector.errors import InjectionError, TemplateError
from injector.names import TEAM, is_dns_label, shortened, suggestion
from injector.pods.context import Namespace, Object
from injector.pods.delivery import file_annotation
from injector.pods.fields import CONTAINER_LISTS
from injector.pods.fitting import mounts_of
from injector.pods.keyed_pointers import PointerIndex, path_of
from injector.pods.receipt import make_receipt
from injector.pods.selectors import matches
from injector.pods.shape import string_map
from injector.reasons import Reason
from injector.settings import Settings
from injector.templates.load import content_digest, load_template
from injector.templates.snapshot import Catalog, Snapshot
from injector.templates.template import Template

#: Of what a team's template may give a pod, beside containers, mounts, annotations and labels.
_OWN: Final = ("spec.volumes", "spec.imagePullSecrets", "spec.containers.env", "spec.initContainers.env")
#: Fewer digits could be met by trying: 48 bits take an afternoon.
_PIN: Final = re.compile(r"[0-9a-f]{32,64}")


#: A template of a team, why it is refused, or None where no ConfigMap is one.
Loaded = Template | TemplateError | None


def may_have_templates(namespace: Namespace, settings: Settings) -> bool:
    """Whether ConfigMaps in a namespace may be templates."""
    own = namespace.name in settings.ignored_namespaces
    return not own and matches(settings.team_templates.namespaces, namespace.labels)


def team_names(pod: Object, settings: Settings) -> tuple[str, ...]:
    """The names of the ConfigMaps that a pod's annotation names as templates of its team, each once, at most 10."""
    text = string_map(pod, "annotations").get(settings.templates_key, "")
    if TEAM not in text:  # as with most pods
        return ()
    names = (name.strip().partition("@")[0].removeprefix(TEAM) for name in text.split(",") if TEAM in name)
    return tuple(dict.fromkeys(filter(is_dns_label, names)))[:10]


def load_team_template(name: str, sources: Mapping[str, str], origin: str) -> Template:
    """The template of a team from its ConfigMap's files. Raises TemplateError."""
    template = load_template(name, sources, origin)
    if template.stage is not None:
        raise TemplateError(name, "a team's template is no next version of another", rule="manifest", origin=origin)
    if template.why_not_injected:
        message = f"no pod can be given it: {template.why_not_injected}"
        raise TemplateError(name, message, rule="manifest", origin=origin)
    return replace(template, name=f"{TEAM}{name}", own_name=f"{TEAM}{name}", selector=None)


def with_team_templates(
    snapshot: Snapshot, templates: Iterable[Template], refused: Mapping[str, TemplateError]
) -> Snapshot:
    """The snapshot with templates of one namespace, for its pods that name them; `refused` are those that are wrong."""
    templates = tuple(templates)
    content = sha256(snapshot.generation.encode())
    for template in templates:
        content.update(f"\n{template.name} {template.digest}".encode())
    previous = snapshot.previous and with_team_templates(snapshot.previous, templates, refused)
    return replace(
        snapshot,
        catalog=Catalog((*snapshot.catalog, *templates), refused),
        generation=content.hexdigest()[:12],
        previous=previous,
    )


def counting_names(settings: Settings, namespace: Namespace) -> Callable[[str], bool]:
    """Whether a name is that of one of the oldest templates, as many as a namespace may have."""
    most, known = settings.team_templates.limits.templates, namespace.team_templates
    oldest = {name for name, _ in known[:most]}
    return lambda name: name in oldest or len(known) < most


def extended(snapshot: Snapshot, namespace: Namespace, loaded: Mapping[str, Loaded]) -> Snapshot:
    """The snapshot with these, of which only the oldest count that a namespace may have."""
    most, counting = snapshot.settings.team_templates.limits.templates, counting_names(snapshot.settings, namespace)
    templates, refused = list[Template](), dict[str, TemplateError]()
    for name, of in loaded.items():
        if not counting(name):
            message = f"the oldest {most} templates of a namespace count (`teamTemplates.limits.templates`)"
            refused[f"{TEAM}{name}"] = TemplateError(name, message, rule="file")
        elif isinstance(of, TemplateError):
            refused[f"{TEAM}{name}"] = of
        elif of is not None:
            templates.append(of)
    return with_team_templates(snapshot, templates, refused)


def check_own_parts(
    template: Template,
    containers: Iterable[str],
    base: Object,
    before: Object,
    after: Object,
    closed: Set[str],
    settings: Settings,
) -> None:
    """Refuse what a team's template with these containers makes of a pod (`before` and `after` it) beyond parts of its
    own.

    `base` is the pod without any injection, and `closed` are the volumes of the cluster's templates that these do not
    share: what a sidecar of theirs may do is no team's to use. Annotations of the injector's are no team's own: by such
    the pod's author chooses templates and parameters. Raises InjectionError with Reason.TEMPLATE_NOT_ALLOWED.
    """
    receipt, parts = make_receipt(before, after, "", {}), PointerIndex(after)
    taken = {*closed, *_names(base, "volumes")}
    files = f".{file_annotation(template.name, '', settings)}"

    def is_own(path: Path, part: Any) -> bool:
        match ".".join(str(step) for step in path if type(step) is not Key):
            case "metadata.annotations" | "metadata.labels":
                key = f".{path[-1]}"
                return key.startswith(files) or not key.partition("/")[0].endswith(f".{settings.prefix}")
            case "spec.containers" | "spec.initContainers":
                return closed.isdisjoint(volume for volume, _, _ in mounts_of(part))
            case "spec.containers.volumeMounts" | "spec.initContainers.volumeMounts":
                return part.get("name") not in taken
            case kind:
                return kind in _OWN

    changed = [*map(path_of, receipt.replaced)]
    changed += [path for at in receipt.added if not is_own(path := path_of(at), parts.at(at))]
    brought = {*containers, *template.redirects}
    changed += [("spec", field, Key(name)) for field in CONTAINER_LISTS for name in brought & _names(before, field)]
    if changed:
        raise InjectionError(
            Reason.TEMPLATE_NOT_ALLOWED,
            "a team's template makes parts of its own, and changes nothing else of a pod",
            help=f"take it out of {template.name}; for more, a cluster admin makes that a template of the cluster",
            path=changed[0],
        )


def _names(pod: Object, field: str) -> set[str]:
    return {part["name"] for part in pod["spec"].get(field) or ()}


def team_template(
    name: str, namespace: Namespace, settings: Settings, catalog: Catalog, *, by_pod: bool, required: bool
) -> Template:
    """The template that a pod names as `./name` or `./name@pin`.

    Raises InjectionError: TEMPLATE_NOT_ALLOWED, TEMPLATE_FAILED for one that is wrong, or UNKNOWN_TEMPLATE.
    """
    base, at, pin = name.partition("@")
    template, fields = catalog.get(base), {"template": base, "namespace": namespace.name}

    def refusal(reason: Reason, message: str, to_do: str = "") -> InjectionError:
        return InjectionError(reason, message, help=to_do, fields=fields)

    not_allowed = Reason.TEMPLATE_NOT_ALLOWED
    if not may_have_templates(namespace, settings) and base not in catalog.refused:
        message = f"template {shortened(base)}: namespace {namespace.name} may not have templates of its own"
        raise refusal(not_allowed, message, "a cluster admin allows it by the setting `teamTemplates`")
    if not by_pod:
        raise refusal(not_allowed, f"template {shortened(base)}: only a pod's own annotation names a team's template")
    if required:
        message = f"template {shortened(base)}: a namespace that requires sidecars uses none of a team"
        raise refusal(not_allowed, message, "name templates of the cluster alone")
    if base in catalog.refused:
        raise refusal(Reason.TEMPLATE_FAILED, str(catalog.refused[base]))
    if template is None:
        key = settings.template_label
        message = f"there is no ConfigMap {shortened(base.removeprefix(TEAM))} with label {key}=true in this namespace"
        names = [f"{TEAM}{known}" for known, _ in namespace.team_templates]
        raise refusal(Reason.UNKNOWN_TEMPLATE, message, suggestion(base, names))
    current = content_digest(template.sources)
    if at and not (_PIN.fullmatch(pin) and current.startswith(pin)):
        message = f"template {base} is not the one that the pod pins: {shortened(pin, 64)}"
        to_do = f"write {base}@{current}, or its first 32 digits or more, for what the ConfigMap holds now"
        raise refusal(not_allowed, message, to_do)
    return template
