"""template.yaml: read with the place of everything in it, so that every error names its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import yaml

from injector.budget import LimitError
from injector.diagnostics import Path, Place, spoken_path
from injector.errors import TemplateError
from injector.names import cut, hint, is_dns_label, legal_name, respelling, shortened, suggestion
from injector.pods.context import Object
from injector.pods.selectors import SelectorError, check_selector
from injector.templates.holes import EXPANSIONS
from injector.templates.kubernetes_yaml import Builder, TooMuchError, compose
from injector.templates.parameter_schema import DeclarationError, make_family, make_parameter
from injector.templates.program import is_document
from injector.templates.quoting import SYNTAXES, syntax_of
from injector.templates.source_map import normal, place_at, yaml_place
from injector.templates.template import (
    FAMILY,
    FILE,
    FOR,
    MANIFEST,
    METADATA,
    OVERLAY,
    VERSION_KEYS,
    AppliesTo,
    FileSpec,
    Parameter,
    Template,
)
from injector.templates.yaml_errors import explain_yaml

#: What a parameter may be called.
PARAMETER_NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?\Z|[a-z](?:[-a-z0-9]{0,48}[a-z0-9])?-\*\Z")
_FILE_KEYS = ("template", "validate", "syntax")
_KEYS = (
    "description", "parameters", "files", "delivery", "hostNetwork", "selector", "namespaces", "overridable",
    "shared", "redirects", "for", *VERSION_KEYS,
)  # fmt: skip


class Manifest:
    """template.yaml, read with the places of everything in it.

    Mistakes that do not depend on one another are collected; `finish` raises them.
    """

    def __init__(self, name: str, sources: Mapping[str, str], origin: str = "") -> None:
        self._name = name
        self._origin = origin
        self._sources = sources
        self._text = normal(sources[MANIFEST])
        try:
            self._node = compose(self._text)
            data = None if self._node is None else Builder(10_000).value(self._node)
        except yaml.YAMLError as error:
            message, offset = explain_yaml(error, self._text, lambda at: str(place_at(MANIFEST, self._text, at).line))
            raise TemplateError(
                name,
                message,
                place_at(MANIFEST, self._text, offset),
                rule="limit" if isinstance(error, TooMuchError) else "yaml",
                origin=origin,
            ) from None
        if not isinstance(data, dict):
            self.refuse((), "template.yaml has to be a mapping with `description:` and `parameters:`")
        #: What the ConfigMap's own label and annotation say goes before the file.
        self._metadata: Object = json.loads(sources.get(METADATA, "{}"))
        self._data = {**data, **self._metadata}
        self._wrong: list[TemplateError] = []
        for key in data:
            if key not in _KEYS:
                with self.collecting():
                    message = f"unknown key {shortened(key)}"
                    help_, near = suggestion(str(key), _KEYS), respelling(str(key), _KEYS)
                    self.refuse((key,), message, help_=help_, mistake=("key", str(key)), fields=near)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Within the `with` block an error does not end the reading: it is kept for `finish`."""
        try:
            yield
        except TemplateError as error:
            self._wrong.append(error)

    def finish(self) -> None:
        """Raise TemplateError where anything was wrong: the first of it in the file, with the others."""
        if self._wrong:
            first, *rest = sorted(self._wrong, key=lambda e: (e.place.line, e.place.column) if e.place else (0, 0))
            first.further = tuple(rest)
            raise first

    def refuse(
        self,
        path: Path,
        message: str,
        *,
        rule: str = "",
        help_: str = "",
        mistake: tuple[Any, ...] = (),
        fields: Mapping[str, Any] | None = None,
    ) -> NoReturn:
        """Raise TemplateError at the key or item that a path leads to."""
        rule = rule or ("parameter" if path[:1] == ("parameters",) else "manifest")
        raise TemplateError(
            self._name,
            cut(message),
            Place(METADATA) if path[:1] and path[0] in self._metadata else self._place(path),
            rule=rule,
            origin=self._origin,
            help=help_,
            fields=fields,
            mistake=mistake,
        ) from None

    def _place(self, path: Path) -> Place:
        return yaml_place(MANIFEST, self._text, self._node, path)

    def text(self, key: str) -> str:
        """A string, empty where there is none."""
        value = self._data.get(key)
        if value is not None and not isinstance(value, str):
            self.refuse((key,), f"{key} has to be a string; put it in quotes")
        return (value or "").strip()

    def choice(self, key: str, choices: tuple[str, ...]) -> Any:
        """One of some choices, the first where there is none."""
        value = self._data.get(key)
        if value is not None and value not in choices:
            message = f"{key} is {shortened(value)}; it has to be {' or '.join(choices)}"
            self.refuse((key,), message, fields=respelling(str(value), choices))
        return value or choices[0]

    def value(self, key: str) -> Any:
        """The value of a key, None where there is none."""
        return self._data.get(key)

    def selector(self, *path: str) -> Object | None:
        """A label selector; None where there is none."""
        value: Any = self._data
        for step in path:
            value = value.get(step)
        if value is not None:
            try:
                check_selector(value, of_namespaces=path[-1] == "namespaces")
            except SelectorError as error:
                found, at = error.diagnostic, (*path, *error.diagnostic.path)
                message = f"{spoken_path(at)}: {found.message}"
                near = {name: found.fields.get(name) for name in ("value", "nearest")}
                self.refuse(at, message, help_=found.help, mistake=found.mistake, fields=near)
        selector: Object | None = value
        return selector

    def strings(self, path: tuple[str, ...], default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of strings."""
        value: Any = self._data
        for step in path:
            value = value.get(step)
        if value is None:
            return default
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.refuse(
                path, f"{'.'.join(path)} has to be a list of strings", mistake=("keyword-value", path[-1], value)
            )
        return tuple(value)

    def mapping(self, key: str, example: str) -> Object:
        """A mapping of mappings. `example` is one of these."""
        value = self._data.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse((key,), f"{key} has to be a mapping of names, such as `name: {example}`")
        for name, item in value.items():
            if not isinstance(item, dict):
                with self.collecting():
                    self.refuse((key, name), f"{key}.{name} has to be a mapping, such as {example}")
        return {name: item for name, item in value.items() if isinstance(item, dict)}

    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name."""
        by_name = {}
        declared = self._data.get("parameters")
        if isinstance(declared, dict) and isinstance(declared.get("type"), str) and "properties" in declared:
            message = "move what is below `properties:` to directly below `parameters:`, and leave `type:` out"
            self.refuse(("parameters", "properties"), message)
        for name, declaration in self.mapping("parameters", "{type: string}").items():
            with self.collecting():
                by_name[name] = self._parameter(name, declaration)
        for name in by_name:
            if name.endswith(FAMILY) and name.removesuffix(FAMILY) in by_name:
                message = f"`{name.removesuffix(FAMILY)}` and `{name}` would both be params.{by_name[name].variable}"
                with self.collecting():
                    self.refuse(("parameters", name), f"{message}; rename one")
        return by_name

    def _parameter(self, name: str, declaration: Object) -> Parameter:
        self._check_parameter_name(name)
        try:
            parameter = make_parameter(name, declaration)
            return make_family(parameter) if name.endswith(FAMILY) else parameter
        except DeclarationError as error:
            message = f"parameter `{name}`: {error.message}"
            self.refuse(
                ("parameters", name, *error.path),
                message,
                rule=error.rule,
                help_=error.help,
                mistake=error.mistake,
                fields=error.fields,
            )
        except (RecursionError, OverflowError, LimitError):
            message = f"parameter `{name}`: its schema is too deep or too large, or takes too much time to check"
            self.refuse(("parameters", name), message, rule="limit")

    def _check_parameter_name(self, name: str) -> None:
        if PARAMETER_NAME.match(name):
            return
        plain = legal_name(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", str(name)))
        family = f", or {plain}-* for all that begin so" if "*" in name else ""
        allowed = "a-z, 0-9 and -, with a letter in front"
        self.refuse(
            ("parameters", name),
            f"{shortened(name)} is not a parameter's name: {allowed}",
            help_=f"write {plain}{family}" if PARAMETER_NAME.match(plain) else "",
        )

    def files(self) -> dict[str, FileSpec]:
        """The config files by name."""
        specs = {}
        for name, item in self.mapping("files", "{template: app.conf.j2}").items():
            with self.collecting():
                specs[name] = self._file(name, item)
        syntaxes: dict[str, str] = {}
        for spec in specs.values():
            if syntaxes.setdefault(spec.template, spec.syntax) != spec.syntax:
                message = f"{spec.template} renders files of two syntaxes; give {spec.name} a .j2 file of its own"
                with self.collecting():
                    self.refuse(("files", spec.name), message)
        return specs

    def _file(self, name: str, item: Object) -> FileSpec:
        at = ("files", name)
        if not FILE.match(name) or name in (".", ".."):
            self.refuse(
                at, f"{shortened(name)} is not a file's name: letters, digits, - _ and . only, without a folder"
            )
        for key in item:
            if key not in _FILE_KEYS:
                message = f"unknown key {shortened(key)}{hint(key, _FILE_KEYS)}"
                self.refuse((*at, key), message, fields=respelling(str(key), _FILE_KEYS))
        source = self._source(name, item)
        validate = self.strings((*at, "validate"), ())
        if validate and not (validate[0].strip() and any("{path}" in word for word in validate)):
            self.refuse(
                (*at, "validate"),
                'validate has to be a program and its arguments, with "{path}" for the path of the file',
            )
        for number, word in enumerate(validate):
            if "\0" in word:
                self.refuse((*at, "validate", number), f"{shortened(word)} has a NUL in it, which no command can have")
        if source == OVERLAY:
            self.refuse((*at, "template"), f"{OVERLAY} renders the overlay; name another file as `template`")
        return FileSpec(name, source, validate, self._syntax(name, source, item.get("syntax")))

    def _source(self, name: str, item: Object) -> str:
        """The file that renders a config file."""
        source = item.get("template", f"{name}.j2")
        if isinstance(source, str) and source in self._sources and source != MANIFEST:
            return source
        files = [file for file in self._sources if file not in (MANIFEST, OVERLAY)]
        self.refuse(
            ("files", name, "template"),
            f"there is no file {shortened(source)} in this folder, which could render {name}",
            rule="file",
            help_=suggestion(str(source), files, "the files are"),
            fields=respelling(str(source), files) if "template" in item else None,
        )

    def _syntax(self, name: str, source: str, declared: Any) -> str:
        """The syntax of a text file: the one under `syntax:`, or the one that its name or its source's name tells.

        For a YAML or JSON file, what the program that reads it expands.
        """
        is_text = not is_document(source)
        if declared is None:
            return syntax_of(name) or syntax_of(source.removesuffix(".j2")) if is_text else ""
        syntaxes = sorted(SYNTAXES if is_text else EXPANSIONS)
        if declared not in syntaxes:
            kind = "a syntax" if is_text else "a program that expands ${...} in a YAML or JSON file"
            self.refuse(
                ("files", name, "syntax"),
                f"{shortened(declared)} is not {kind}",
                help_=suggestion(str(declared), syntaxes),
                fields=respelling(str(declared), syntaxes),
            )
        return str(declared)

    def redirects(self) -> dict[str, str]:
        """The sidecar that each redirecting init container sends traffic to, by the name of the init container."""
        value = self._data.get("redirects")
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(map(is_dns_label, (*value, *value.values()))):
            self.refuse(
                ("redirects",),
                "redirects has to be a mapping of containers' names, such as {envoy-redirect: envoy-sidecar}",
            )
        return value

    def applies_to(self) -> AppliesTo:
        """What `for` says."""
        value = self._data.get("for")
        if value is None:
            return AppliesTo()
        if not isinstance(value, dict):
            self.refuse(("for",), "`for` has to be a mapping, such as {resources: [services]}")
        for key in value:
            if key not in FOR:
                help_, near = suggestion(str(key), FOR), respelling(str(key), FOR)
                self.refuse(("for", key), f"unknown key {shortened(key)}", help_=help_, fields=near)
        rules = {}
        for key, rule in FOR.items():
            rules[key] = self.strings(("for", key), rule.default)
            if not rules[key]:
                self.refuse(("for", key), f"for.{key} is empty; it has to name at least one, such as {rule.example}")
            for number, word in enumerate(rules[key]):
                if not rule.word.fullmatch(word):
                    self.refuse(
                        ("for", key, number),
                        f"for.{key}: {shortened(word)} is not valid; name each, such as {rule.example}",
                    )
        return AppliesTo(rules["apiGroups"], rules["apiVersions"], rules["resources"], rules["operations"])


def manifest_place(template: Template, path: Path, *, key: bool = True) -> Place:
    """The place of a key (or of its value) of template.yaml, as in ("parameters", "app-port", "default").

    Of the nearest parent where there is no such key.
    """
    text = normal(template.sources[MANIFEST])
    return yaml_place(MANIFEST, text, compose(text), path, key=key)
