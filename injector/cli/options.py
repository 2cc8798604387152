"""Options that several commands have: groups of them, and what a whole group arrives as."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from injector.cluster.blocking_client import BlockingClient
    from injector.pods.context import Object

#: An option, as `click.option` makes it, or something else that decorates a command.
Option = Callable[[Any], Any]
#: What an option may name.
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
NEW_FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def option(names: str, metavar: str, help_text: str, **more: Any) -> Option:
    """An option by its names, with blanks between them; "" as its `metavar` where the type says what to write."""
    return click.option(*names.split(), metavar=metavar or None, help=help_text, **more)


def flag(names: str, help_text: str, **more: Any) -> Option:
    """An option without a value."""
    return option(names, "", help_text, is_flag=True, **more)


def one_of(names: str, choices: str, help_text: str, **more: Any) -> Option:
    """An option whose value is one of some words, by default the first."""
    words = choices.split()
    return option(names, "", help_text, type=click.Choice(words), default=words[0], **more)


def with_options(*options: Option) -> Option:
    """A decorator that gives a command these options, in order."""

    def decorate(command: Any) -> Any:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate


def as_one(kind: type[Any], parameter: str = "options") -> Option:
    """A decorator with which options arrive as one value: those of a command that are fields of `kind`."""

    def decorate(command: Any) -> Any:
        @wraps(command)
        def with_one(*args: Any, **keywords: Any) -> Any:
            own = {field.name: keywords.pop(field.name) for field in fields(kind) if field.name in keywords}
            return command(*args, **keywords, **{parameter: kind(**own)})

        return with_one

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The options of more than one command; a command that has not all of them leaves the others at their default.

    `templates` are those that are asked for by name, and `user` is a review's `userInfo`, {} for nobody.
    """

    templates: list[str] | None = None
    templates_dirs: tuple[Path, ...] = ()
    settings_file: Path | None = None
    version: tuple[int, int] | None = None
    params: tuple[str, ...] = ()
    namespace: str | None = None
    namespace_labels: dict[str, str] = field(default_factory=dict)
    namespace_annotations: dict[str, str] = field(default_factory=dict)
    from_cluster: bool = False
    kubeconfig: str | None = None
    context: str | None = None
    injector_namespace: str | None = None
    user: Object = field(default_factory=dict)

    def connect(self) -> BlockingClient:
        """The cluster that they name. The Kubernetes client takes a while to import; `--help` and files need none."""
        from injector.cluster.blocking_client import BlockingClient

        return BlockingClient(self.kubeconfig, self.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions(CommonOptions):
    """The options of `render`: the template, the pod or object, and what of the result to show.

    `operation` and `old` (a file) are for templates of paths, and so is `user`.
    """

    template: str
    pod: str | None
    diff: bool
    file: str | None
    form: str
    operation: str | None
    old: str | None


# ---------------------------------------------------------------------------------------------- what it is made from


def _version(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    from injector.authoring.lint.pod_schema import version_of

    version = version_of(text)
    if version is None:
        raise click.BadParameter(f'"{text}" is not a version such as 1.33')
    return version


#: The option of a version of Kubernetes, which arrives as `version`.
VERSION_OPTION = option(
    "--kubernetes-version version",
    "1.N",
    "Version of the API server to assume. Default: 1.36.",
    callback=lambda _context, _option, value: _version(value),
)

#: The option of settings, which arrives as `settings_file`.
SETTINGS_OPTION = option(
    "--settings settings_file",
    "FILE",
    "The settings of your injector, also as a ConfigMap. Default: the default settings.",
    type=EXISTING_FILE,
)

#: Options of templates and settings.
TEMPLATE_OPTIONS = (
    option(
        "--templates-dir templates_dirs",
        "DIR",
        "A template, a folder of templates, or a file of template ConfigMaps as kubectl prints them, in addition "
        "to the gallery. Repeatable. If two templates have the same name, the last one is used.",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
    ),
    SETTINGS_OPTION,
)


def names_option(help_text: str) -> Option:
    """The option of templates by name, which arrives as `templates`: their names, None where it is not given."""
    return option(
        "--templates",
        "A,B",
        f"{help_text} Repeatable.",
        multiple=True,
        callback=lambda _context, _option, values: names_within(values) if values else None,
    )


NAMES_OPTION = names_option("Templates to apply, in this order, instead of those that annotations name.")


#: What an injection is to be made from.
SOURCE_OPTIONS = (
    *TEMPLATE_OPTIONS,
    VERSION_OPTION,
    option(
        "--param params",
        "TEMPLATE.PARAMETER=VALUE",
        "A parameter, such as envoy.cpu-limit=500m. It overrides annotations. Repeatable.",
        multiple=True,
    ),
)


def names_within(values: Sequence[str]) -> list[str]:
    """The names of an option that may be given more than once, each with some names, in order, each once."""
    return list(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))


# ------------------------------------------------------------------------------------------------ where the pods are


#: What is said about namespaces: that of objects which name none, and labels and annotations of all of them.
NAMESPACE_OPTIONS = (
    option("-n --namespace", "NS", "Namespace of objects without one. Default: default."),
    option(
        "--namespace-label namespace_labels",
        "KEY=VALUE",
        "A label for every namespace, such as injection=required. It overrides the input's label of the "
        "same name. Repeatable. Empty: the namespaces are without the label that controls injection.",
        multiple=True,
        callback=lambda _context, _option, values: {
            **_pairs([value for value in values if value]),
            **{value: value for value in values if not value},
        },
    ),
    option(
        "--namespace-annotation namespace_annotations",
        "KEY=VALUE",
        "An annotation for every namespace. It overrides the input's annotation of the same name. Repeatable.",
        multiple=True,
        callback=lambda _context, _option, values: _pairs(values),
    ),
)


def _pairs(values: Sequence[str]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise click.BadParameter(f'"{key}" is not KEY=VALUE (injection=enabled)')
    return {key: value for key, _, value in pairs}


# ------------------------------------------------------------------------------------------------- a running cluster


#: Options of every command that asks a cluster, which arrive as `kubeconfig` and `context`.
KUBECONFIG_OPTIONS = (
    option("--kubeconfig", "FILE", "Kubeconfig file, as in kubectl."),
    option("--context", "NAME", "Context of the kubeconfig file, as in kubectl."),
)

#: The same of commands that are about pods of a cluster, with `injector_namespace`.
POD_OPTIONS = (
    *KUBECONFIG_OPTIONS,
    option("--injector-namespace", "NS", "Where the cluster's injector runs. Default: found by label."),
)

#: Whether settings, templates and namespaces are those of a cluster, and how it is reached.
CLUSTER_OPTIONS = (
    flag(
        "--from-cluster",
        "Use the settings and templates of the cluster's injector, and the labels of the cluster's namespaces.",
    ),
    *POD_OPTIONS,
)

#: The options of commands that are about a cluster's injector, with the same values.
INJECTOR_OPTIONS = (
    option("-n --namespace injector_namespace", "NS", "Where the injector runs. Default: found by its webhooks."),
    *KUBECONFIG_OPTIONS,
)


# ---------------------------------------------------------------------------------------------------- what is written


#: The option of commands that look for problems.
OUTPUT_OPTION = one_of(
    "--output",
    "text json sarif github",
    "Format of the report; github writes annotations for a pull request.",
    show_default=True,
)


#: The option of commands that warn.
STRICT_OPTION = flag("--strict", "Exit with 1 if there is a warning, as if it were an error.")

#: The option of commands that write manifests, which arrives as `form`.
REPORT_OPTION = one_of("--output form", "text json", "Format of the report on standard error.")


def with_user(command: Any) -> Any:
    """Give a command `user`: a review's `userInfo` as --user and --group say it, {} without them."""

    @wraps(command)
    def with_info(*args: Any, user: str | None, groups: tuple[str, ...], **keywords: Any) -> Any:
        if groups and user is None:
            raise click.UsageError("--group is a group of --user NAME; name the user as well.")
        return command(*args, **keywords, user=user_info(user, groups))

    with_group = option("--group groups", "NAME", "A group of --user. Repeatable.", multiple=True)
    name = option(
        "--user", "NAME", "Assume that this user makes the request. Only for templates under `paths:` in the settings."
    )
    return name(with_group(with_info))


def user_info(user: str | None, groups: tuple[str, ...] = ()) -> Object:
    """A user as a review has it, always in the group `system:authenticated`; {} where nobody is named."""
    if user is None:
        return {}
    return {"username": user, "groups": list(dict.fromkeys((*groups, "system:authenticated")))}


# ------------------------------------------------------------------------------------------- a signer of the cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """Who is to sign, "" for nobody, where the result goes (a Secret, or None for a folder), and how the cluster is
    reached.
    """

    signer: str
    secret: str | None
    cert_name: str | None
    key_name: str | None
    approve: bool
    wait: float | None
    kubeconfig: str | None
    context: str | None


SIGNER_OPTIONS = (
    option(
        "--signer",
        "NAME",
        "Let a signer of the cluster sign the certificate: kubernetes.io/kubelet-serving, or another signer.",
        default="",
    ),
    option("--secret", "NAME", "With --signer: the Secret for the certificate and its key, instead of --out."),
    option(
        "--cert-name",
        "KEY",
        "With --signer: name of the certificate in the Secret or in the folder. Default: tls.crt with --secret, "
        "server.crt with --out.",
    ),
    option(
        "--key-name",
        "KEY",
        "With --signer: name of the private key in the Secret or in the folder. Default: tls.key with --secret, "
        "server.key with --out.",
    ),
    flag("--approve", "With --signer: approve the request, if you may."),
    option(
        "--wait",
        "SECONDS",
        "With --signer: how long to wait until it is approved and signed. Default: 300.",
        type=click.FloatRange(0, 86400),
    ),
    option("--kubeconfig", "FILE", "With --signer: kubeconfig file, as in kubectl."),
    option("--context", "NAME", "With --signer: context of the kubeconfig file."),
)
