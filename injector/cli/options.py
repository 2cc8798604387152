"""Options that several commands have: groups of them, and what a whole group arrives as."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from injector.pods.context import Object

_Command = TypeVar("_Command", bound=Callable[..., Any])
#: Options, as `click.option` makes them.
Group = tuple[Callable[[Any], Any], ...]


def with_options(*groups: Group) -> Callable[[_Command], _Command]:
    """A decorator that gives a command the options of these groups, in order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def as_one(command: Callable[..., Any], kind: type[Any], parameter: str, group: Group) -> Callable[..., Any]:
    """The command with options that arrive as one value: each field of `kind` is the option of that name."""

    @functools.wraps(command)
    def with_one(*args: Any, **keywords: Any) -> Any:
        own = {field.name: keywords.pop(field.name) for field in fields(kind)}
        return command(*args, **keywords, **{parameter: kind(**own)})

    return with_options(group)(with_one)


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
VERSION_OPTION = click.option(
    "--kubernetes-version",
    "version",
    metavar="1.N",
    callback=lambda _context, _option, value: _version(value),
    help="Version of the API server to assume. Default: 1.36.",
)

#: Options of templates and settings, which arrive as `templates_dirs` and `settings_file`.
TEMPLATE_OPTIONS: Group = (
    click.option(
        "--templates-dir",
        "templates_dirs",
        multiple=True,
        metavar="DIR",
        type=click.Path(path_type=Path, exists=True),
        help=(
            "A template, a folder of templates, or a file of template ConfigMaps as kubectl prints them, in addition "
            "to the gallery. Repeatable. If two templates have the same name, the last one is used."
        ),
    ),
    click.option(
        "--settings",
        "settings_file",
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The settings of your injector, also as a ConfigMap. Default: the default settings.",
    ),
)


def names_option(help_text: str) -> Callable[[Any], Any]:
    """The option of templates by name, which arrives as `templates`: their names, None where it is not given."""
    return click.option(
        "--templates",
        multiple=True,
        metavar="A,B",
        callback=lambda _context, _option, values: _names(values),
        help=f"{help_text} Repeatable.",
    )


NAMES_OPTION = names_option("Templates to apply, in this order, instead of those that annotations name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What an injection is to be made from, as the options of every command that injects say."""

    templates_dirs: tuple[Path, ...] = ()
    settings_file: Path | None = None
    version: tuple[int, int] | None = None
    params: tuple[str, ...] = ()


def with_source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `source_options`."""
    param = click.option(
        "--param",
        "params",
        multiple=True,
        metavar="TEMPLATE.PARAMETER=VALUE",
        help="A parameter, such as envoy.cpu-limit=500m. It overrides annotations. Repeatable.",
    )
    return as_one(command, SourceOptions, "source_options", (*TEMPLATE_OPTIONS, VERSION_OPTION, param))


def _names(values: tuple[str, ...]) -> list[str] | None:
    """The names of all `--templates`, in order, each once; None where it is not given."""
    names = list(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))
    return names if values else None


# ------------------------------------------------------------------------------------------------ where the pods are


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceOptions:
    """What is said about namespaces: that of objects which name none, and labels and annotations of all of them."""

    namespace: str | None = None
    namespace_labels: dict[str, str] = field(default_factory=dict)
    namespace_annotations: dict[str, str] = field(default_factory=dict)


def with_namespace_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that reads manifests `namespace_options`."""
    group = (
        click.option("-n", "--namespace", metavar="NS", help="Namespace of objects without one. Default: default."),
        click.option(
            "--namespace-label",
            "namespace_labels",
            multiple=True,
            metavar="KEY=VALUE",
            callback=lambda _context, _option, values: {
                **_pairs([value for value in values if value]),
                **({} if all(values) else {"": ""}),
            },
            help=(
                "A label for every namespace, such as injection=required. It overrides the input's label of the "
                "same name. Repeatable. Empty: the namespaces are without the label that controls injection."
            ),
        ),
        click.option(
            "--namespace-annotation",
            "namespace_annotations",
            multiple=True,
            metavar="KEY=VALUE",
            callback=lambda _context, _option, values: _pairs(values),
            help=(
                "An annotation for every namespace. It overrides the input's annotation of the same name. Repeatable."
            ),
        ),
    )
    return as_one(command, NamespaceOptions, "namespace_options", group)


def _pairs(values: Sequence[str]) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise click.BadParameter(f'"{key}" is not KEY=VALUE (injection=enabled)')
    return {key: value for key, _, value in pairs}


# ------------------------------------------------------------------------------------------------- a running cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Whether settings, templates and namespaces are those of a cluster, and how it is reached."""

    from_cluster: bool = False
    kubeconfig: str | None = None
    context: str | None = None
    injector_namespace: str | None = None


def with_cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that reads manifests `cluster_options`."""
    flag = click.option(
        "--from-cluster",
        is_flag=True,
        help="Use the settings and templates of the cluster's injector, and the labels of the cluster's namespaces.",
    )
    return as_one(command, ClusterOptions, "cluster_options", (flag, *POD_OPTIONS))


#: Options of every command that asks a cluster, which arrive as `kubeconfig` and `context`.
KUBECONFIG_OPTIONS: Group = (
    click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file, as in kubectl."),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig file, as in kubectl."),
)

#: The same of commands that are about pods of a cluster, with `injector_namespace`.
POD_OPTIONS: Group = (
    *KUBECONFIG_OPTIONS,
    click.option(
        "--injector-namespace", metavar="NS", help="Where the cluster's injector runs. Default: found by label."
    ),
)

#: The same of commands that are about a cluster's injector, whose `namespace` it is.
INJECTOR_OPTIONS: Group = (
    click.option("-n", "--namespace", metavar="NS", help="Where the injector runs. Default: found by its webhooks."),
    *KUBECONFIG_OPTIONS,
)


# ---------------------------------------------------------------------------------------------------- what is written


#: The option of commands that look for problems.
OUTPUT_OPTION = click.option(
    "--output",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="Format of the report; github writes annotations for a pull request.",
)


#: The option of commands that warn.
STRICT_OPTION = click.option(
    "--strict", is_flag=True, help="Exit with 1 if there is a warning, as if it were an error."
)

#: The option of commands that write manifests, which arrives as `form`.
REPORT_OPTION = click.option(
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the report on standard error.",
)


def with_user(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `user`: a review's `userInfo` as --user and --group say it, {} without them."""

    @functools.wraps(command)
    def with_info(*args: Any, user: str | None, groups: tuple[str, ...], **keywords: Any) -> Any:
        if groups and user is None:
            raise click.UsageError("--group is a group of --user NAME; name the user as well.")
        return command(*args, **keywords, user=user_info(user, groups))

    with_group = click.option("--group", "groups", multiple=True, metavar="NAME", help="A group of --user. Repeatable.")
    name = click.option(
        "--user",
        metavar="NAME",
        help="Assume that this user makes the request. Only for templates under `paths:` in the settings.",
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
    """Who is to sign, where the result goes (a Secret, or None for a folder), and how the cluster is reached."""

    signer: str
    secret: str | None
    cert_name: str | None
    key_name: str | None
    approve: bool
    wait: float | None
    kubeconfig: str | None
    context: str | None


_SIGNER_OPTIONS = (
    click.option(
        "--signer",
        default="",
        metavar="NAME",
        help=("Let a signer of the cluster sign the certificate: kubernetes.io/kubelet-serving, or another signer."),
    ),
    click.option(
        "--secret", metavar="NAME", help="With --signer: the Secret for the certificate and its key, instead of --out."
    ),
    click.option(
        "--cert-name",
        metavar="KEY",
        help=(
            "With --signer: name of the certificate in the Secret or in the folder. Default: tls.crt with --secret, "
            "server.crt with --out."
        ),
    ),
    click.option(
        "--key-name",
        metavar="KEY",
        help=(
            "With --signer: name of the private key in the Secret or in the folder. Default: tls.key with --secret, "
            "server.key with --out."
        ),
    ),
    click.option("--approve", is_flag=True, help="With --signer: approve the request, if you may."),
    click.option(
        "--wait",
        type=click.FloatRange(0, 86400),
        metavar="SECONDS",
        help="With --signer: how long to wait until it is approved and signed. Default: 300.",
    ),
    click.option("--kubeconfig", metavar="FILE", help="With --signer: kubeconfig file, as in kubectl."),
    click.option("--context", metavar="NAME", help="With --signer: context of the kubeconfig file."),
)


def with_signer(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `signing`, None without --signer. The other options alone would do nothing, and are refused."""

    @functools.wraps(command)
    def checked(*args: Any, signing: Signing, **keywords: Any) -> Any:
        alone = [f"--{field.name.replace('_', '-')}" for field in fields(Signing) if getattr(signing, field.name)]
        if alone and not signing.signer:
            raise click.UsageError(f"{', '.join(alone)}: only with --signer.")
        return command(*args, **keywords, signing=signing if signing.signer else None)

    return as_one(checked, Signing, "signing", _SIGNER_OPTIONS)
