"""What an injection of the command line is made from: the gallery, folders of templates, settings and parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from injector.apply import Overrides
from injector.authoring.diagnostic_formats import one_line
from injector.authoring.yaml_stream import split_yaml
from injector.cli.manifest_objects import metadata_of
from injector.cli.options import CommonOptions
from injector.diagnostics import Diagnostic, Place
from injector.errors import DocumentError, SettingsError, TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import (
    gallery_path,
    has_manifest,
    no_manifest,
    read_folder,
    template_folders,
    templates_in,
)
from injector.names import TEAM, hint, shortened
from injector.pods.context import OLDEST, Cluster, Namespace, Object, objects_of
from injector.settings import SETTINGS_KEY, Settings, parse_settings
from injector.templates.kubernetes_yaml import compose
from injector.templates.parameter_schema import declared_parameter, similar_names
from injector.templates.snapshot import Catalog, Snapshot, SnapshotError, build_snapshot
from injector.templates.source_map import normal, yaml_place
from injector.templates.team import team_names, with_team_templates
from injector.templates.template import Template

#: The texts of templates by the name of each, and of its files.
TemplateTexts = dict[str, dict[str, str]]
#: The snapshot with these templates of a namespace's own, and the namespace with the names of all that it has.
TeamTemplatesOf = Callable[[Snapshot, Namespace, Sequence[str]], tuple[Snapshot, Namespace]]

#: Why a file's templates of a team are not read.
_OF_NAMESPACE = "it is a ConfigMap of the pod's namespace; add --from-cluster to read it"


@dataclass(frozen=True, slots=True)
class Sources:
    """What an injection is made from: the snapshot, and the parameters of the command line by template."""

    snapshot: Snapshot
    overrides: Overrides
    warnings: tuple[str, ...] = ()  #: of templates that were left out, and of a version that is too old
    origin: str = "the default settings and the gallery"  #: in words
    errors: tuple[TemplateError, ...] = ()  #: what is wrong with those that were left out
    injector_namespace: str = ""  #: of the running injector that these are of; "" for none
    team_templates: TeamTemplatesOf | None = None  #: reads templates of teams; None where no namespace has some

    @property
    def settings(self) -> Settings:
        """The settings of the snapshot."""
        return self.snapshot.settings

    def for_pod(self, pod: Object, namespace: Namespace, more: Iterable[str] = ()) -> tuple[Snapshot, Namespace]:
        """The snapshot and the namespace for a pod, with the templates of its team that it names, or `more` does."""
        names = (
            *team_names(pod, self.settings),
            *(name.removeprefix(TEAM) for name in more if name.startswith(TEAM)),
        )
        if not names or self.team_templates is None:
            return self.snapshot, namespace
        return self.team_templates(self.snapshot, namespace, names)

    def idle_parameters(self, applied: Iterable[str]) -> Iterator[str]:
        """A warning of each `--param` whose template no object gets; `applied` are those that objects get.

        Templates at paths do not count: a policy that has nothing to say of an object was asked with its parameters.
        """
        active = {*applied, *(name for at in self.settings.paths.values() for name in at.templates)}
        to_do = f"add it to --templates, or to the annotation {self.settings.templates_key}"
        for template, parameters in self.overrides.items():
            for name in parameters if template not in active else ():
                yield f"--param {template}.{name} has no effect, because no object gets template {template}; {to_do}"


def gather(options: CommonOptions | None = None, *, only: Sequence[str] | None = None) -> Sources:
    """Settings, gallery and folders as one snapshot, and the parameters checked against it.

    `only` are the templates that are asked for by name: of the others one that does not load is left out, and told in
    `warnings`. Raises SettingsError, TemplateError, and click.UsageError for a parameter that there is not.
    """
    options = options or CommonOptions()
    settings = load_settings(options.settings_file)
    cluster = Cluster(options.version or Cluster().version, settings.cluster_domain)
    # The trial in a child process is for templates that come from others, in a running cluster; these are the user's.
    folders, maps = _folders_and_maps((gallery_path(), *options.templates_dirs), settings)
    origins = {name: str(folder) for name, folder in folders.items()}
    sources, errors = _read(folders, only)
    sources |= maps
    try:
        snapshot = _snapshot(options, settings, sources, cluster, origins=origins, load=load_shipped)
    except SnapshotError as error:
        errors += [e for e in error.errors if isinstance(e, TemplateError)]
        names = {e.template for e in errors}
        if only is None or len(errors) < len(error.errors) or names & set(only):
            raise
        sources = {name: files for name, files in sources.items() if name not in names}
        snapshot = _snapshot(options, settings, sources, cluster, origins=origins, load=load_shipped)
    used = "the default settings" if options.settings_file is None else options.settings_file.name
    origin = f"{used}, the gallery and --templates-dir" if options.templates_dirs else f"{used} and the gallery"
    overrides = read_parameters(options.params, snapshot)
    reason = "is ignored, because it cannot be loaded and is not in --templates"
    warnings = tuple(f"{error.template} {reason}: {error}" for error in errors)
    off = options.settings_file is not None and settings.team_templates.namespaces is None
    teams = None if off else partial(refused_team_templates, _OF_NAMESPACE)
    return Sources(
        snapshot, overrides, (*too_old(cluster.version), *warnings), origin, tuple(errors), team_templates=teams
    )


def too_old(version: tuple[int, int]) -> tuple[str, ...]:
    """A warning of a version of Kubernetes with which the injector does not work; empty for the others."""
    if version >= OLDEST:
        return ()
    text, oldest = ("{}.{}".format(*pair) for pair in (version, OLDEST))
    return (f"--kubernetes-version {text}: the injector needs Kubernetes {oldest} or newer",)


def refused_team_templates(
    why_not: str, snapshot: Snapshot, namespace: Namespace, names: Sequence[str]
) -> tuple[Snapshot, Namespace]:
    """A `TeamTemplatesOf` that reads nothing, with a sentence that says why."""
    refused = {f"{TEAM}{name}": TemplateError(f"{TEAM}{name}", why_not, rule="file") for name in names}
    return with_team_templates(snapshot, (), refused), namespace


def _folders_and_maps(entries: Iterable[Path], settings: Settings) -> tuple[dict[str, Path], TemplateTexts]:
    """The templates of some folders and files of ConfigMaps by name; later ones win."""
    folders, maps = dict[str, Path](), TemplateTexts()
    for entry in entries:
        if entry.is_dir():
            folders |= template_folders([entry])
            maps = {name: files for name, files in maps.items() if name not in folders}
        else:
            maps |= template_maps(entry, settings)
    return {name: folder for name, folder in folders.items() if name not in maps}, maps


def templates_given(entries: Iterable[Path], settings: Settings) -> TemplateTexts:
    """The sources of the templates of --templates-dir by name. Raises SettingsError, DocumentError, TemplateError."""
    folders, maps = _folders_and_maps(entries, settings)
    return {name: read_folder(folder) for name, folder in folders.items()} | maps


def template_maps(file: Path, settings: Settings) -> TemplateTexts:
    """The templates of a file of ConfigMaps, as `kubectl get -o yaml` prints them. Raises DocumentError for none."""
    from injector.cluster.template_maps import template_files

    templates = {
        str(metadata_of(obj).get("name")): template_files(obj, settings)
        for obj in config_maps_in(file)
        if "template.yaml" in obj["data"]
    }
    if not templates:
        raise DocumentError(f"{file}: holds no ConfigMap of a template, and is no folder of templates")
    return templates


def config_maps_in(file: Path) -> list[Object]:
    """The ConfigMaps of a file, also those in a List, each with its `data`.

    Raises DocumentError for a file that is not YAML, and for data that is none of a ConfigMap.
    """
    objects = [obj for document in split_yaml(_text(file), str(file)) for obj in objects_of(document.value)]
    maps = [{**obj, "data": obj.get("data") or {}} for obj in objects if obj.get("kind") == "ConfigMap"]
    for obj in maps:
        values = obj["data"].values() if isinstance(obj["data"], dict) else [obj["data"]]
        if no_texts := [value for value in values if not isinstance(value, str)]:
            fault = f"its data has to be texts by name, and holds {no_texts[0]!r}"
            raise DocumentError(f"{file}: ConfigMap {metadata_of(obj).get('name')}: {fault}")
    return maps


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: {getattr(error, 'strerror', None) or 'is not UTF-8'}") from None


def warn_of(warnings: Sequence[str]) -> bool:
    """Tell of something on standard error. Returns whether there was anything."""
    for warning in warnings:
        click.echo(f"{click.style('warning', fg='yellow')}: {one_line(warning)}", err=True)
    return bool(warnings)


def gather_one(template: str, options: CommonOptions) -> Sources:
    """Settings and one template as a snapshot, so that other templates may be broken; the parameters as in `gather`.

    Errors call the template what people called it. Raises as `gather` does, and DocumentError where there is none.
    """
    loaded = load_one(template, options.templates_dirs)
    settings = load_settings(options.settings_file)
    cluster = Cluster(options.version or Cluster().version, settings.cluster_domain)
    # A template that the snapshot before holds is taken over as it is, with where it came from.
    before = Snapshot(settings, Catalog([loaded]), cluster, "")
    snapshot = _snapshot(options, settings, {loaded.own_name: loaded.sources}, cluster, before)
    return Sources(snapshot, read_parameters(options.params, snapshot, loaded.name), too_old(cluster.version))


def load_one(template: str, templates_dirs: tuple[Path, ...] = ()) -> Template:
    """A template by its folder or name, see `template_folder`. Its errors call the folder what people called it.

    Raises TemplateError, and DocumentError where there is none.
    """
    for entry in templates_dirs:
        if entry.is_file() and template in (maps := template_maps(entry, Settings())):
            return load_shipped(template, maps[template], origin=str(entry))
    folder = template_folder(template, tuple(entry for entry in templates_dirs if entry.is_dir()))
    path = template if folder == Path(template) else str(folder)
    return load_shipped(folder.resolve().name, read_folder(folder, path), origin=path)


def template_folder(template: str, templates_dirs: tuple[Path, ...] = ()) -> Path:
    """The folder of a template: `template` is the folder, or else a name in the gallery or in one of these folders.

    Raises DocumentError where there is no such template.
    """
    folder, folders = Path(template), dict[str, Path]()
    for parent in (gallery_path(), *templates_dirs):
        folders |= templates_in(parent)
    if has_manifest(folder):
        return folder
    if template in folders:
        return folders[template]
    if "/" in template or os.path.isdir(folder):  # noqa: PTH112 - of a name that is too long it is no
        raise DocumentError(f"{template}: is not a template: {no_manifest(folder)}")
    raise DocumentError(f"there is no template {shortened(template)}{hint(template, folders, 'there are')}")


def load_settings(file: Path | None) -> Settings:
    """The settings of a file, or the defaults. Raises SettingsError or DocumentError naming the file."""
    if file is None:
        return Settings()
    if maps := config_maps_in(file):
        # The Kubernetes client takes a while to import; most commands need none.
        from injector.webhook.snapshot_sources import read_settings

        for config_map in maps:
            if (text := config_map["data"].get(SETTINGS_KEY)) is not None:
                return read_settings(text, f"{file}, key {SETTINGS_KEY}")
        raise SettingsError(f"{file}: no ConfigMap in it has the key {SETTINGS_KEY}")
    documents = list(split_yaml(_text(file), str(file)))
    if len(documents) > 1:
        raise SettingsError(f"{file}: holds {len(documents)} documents; a settings file has one")
    try:
        return parse_settings(documents[0].value, str(file))
    except SettingsError as error:
        raise _in_file(file, error) from None


def _in_file(file: Path, error: SettingsError) -> SettingsError:
    """An error in the settings, at its line of their file."""
    if not error.diagnostics:
        return error
    first, *rest = error.diagnostics
    placed = (replace(fault, place=_place(file, fault)) for fault in rest)
    return SettingsError.of(str(_place(file, first)), first, *placed)


def _place(file: Path, fault: Diagnostic) -> Place:
    text = normal(file.read_text(encoding="utf-8-sig"))
    return yaml_place(str(file), text, compose(text), fault.path)


def _snapshot(options: CommonOptions, *args: Any, **keywords: Any) -> Snapshot:
    """`build_snapshot`, with what is wrong in the settings, and what it warns of, at its line of their file."""
    file = options.settings_file
    if file is None or config_maps_in(file):  # lines of a text within a text are none of the file
        return build_snapshot(*args, **keywords)

    def placed(warning: Diagnostic) -> Diagnostic:
        return warning if warning.place and warning.place.file else replace(warning, place=_place(file, warning))

    try:
        snapshot = build_snapshot(*args, **keywords)
    except SnapshotError as error:
        raise SnapshotError(_in_file(file, e) if isinstance(e, SettingsError) else e for e in error.errors) from None
    return replace(snapshot, warnings=tuple(map(placed, snapshot.warnings)))


def _read(folders: Mapping[str, Path], only: Sequence[str] | None) -> tuple[TemplateTexts, list[TemplateError]]:
    """The sources of the templates, and why the sources of some cannot be read.

    Raises TemplateError for one of `only`.
    """
    sources, errors = {}, []
    for name, folder in folders.items():
        try:
            sources[name] = read_folder(folder)
        except TemplateError as error:
            if only is None or name in only:
                raise
            errors.append(error)
    return sources, errors


def read_parameters(params: Iterable[str], snapshot: Snapshot, template: str = "") -> dict[str, dict[str, str]]:
    """The values by template; `template` is the default where `--param` names none.

    Raises click.UsageError for what is not NAME=VALUE, and for a template or a parameter that there is not.
    """
    parameters: dict[str, dict[str, str]] = {}
    for text in params:
        key, equals, value = text.partition("=")
        name, parameter = _named(key, snapshot.settings)
        name = name or template
        if not (equals and name):
            raise click.UsageError(f"--param {shortened(text)} is not TEMPLATE.PARAMETER=VALUE (envoy.cpu-limit=500m)")
        owner = snapshot.catalog.get(name)
        if owner is None:
            near = hint(name, snapshot.catalog.names, "there are")
            raise click.UsageError(f"--param {key}: there is no template {shortened(name)}{near}")
        if declared_parameter(owner.parameters, parameter) is None:
            near = hint(parameter, similar_names(owner.parameters, parameter), "there are")
            raise click.UsageError(f"--param {key}: template {name} has no parameter `{parameter}`{near}")
        parameters.setdefault(name, {})[parameter] = value
    return parameters


def _named(key: str, settings: Settings) -> tuple[str, str]:
    """Template and parameter of a key; that of an annotation, `envoy.sidecar.injector/app-port`, is one too."""
    owner, at, parameter = key.strip().partition(f".{settings.prefix}/")
    if at:
        return owner, parameter
    owner, _, parameter = key.strip().rpartition(".")
    return owner, parameter
