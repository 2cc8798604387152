"""Commands and options of kubectl, Helm, istioctl, Linkerd, Jsonnet and others, and what to type in their place."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import click

from injector.cli.inputs import SUFFIXES
from injector.names import nearest

_INJECT = "to put sidecars into manifests: injector inject FILE"
_APPLY = "injector inject does not change a cluster; to apply its output: injector inject FILE | kubectl apply -f -"
_RENDER = "to see what a template makes of a pod: injector render TEMPLATE FILE"
_CHECK = "to check an installation: injector check"
_NEW = "to start a template: injector new NAME"
_WHY = "to see why a pod has, or has not, a sidecar: injector explain pod/NAME"
_LIST = "to list pods with their sidecars: injector list"
_DOCS = "for the parameters of a template: injector docs TEMPLATE"
_BUILD = "build it first: kustomize build DIR | injector inject -"
_SETTINGS = "settings are in a file; give it to the other commands with --settings FILE"
_LABEL = "kubectl label namespace NAMESPACE injection="
_VALIDATE = (
    "for templates: injector lint DIR; for manifests and policies: injector check-manifests --settings FILE FILE; for "
    "a cluster: injector check"
)
#: Commands of other programs.
_COMMANDS = {
    **dict.fromkeys(("kube-inject", "add", "mutate", "wrap", "add-sidecar", "sidecar", "reinject"), _INJECT),
    **dict.fromkeys(("apply", "replace", "patch", "set", "edit", "annotate", "rollout", "scale", "run"), _APPLY),
    **dict.fromkeys(
        ("delete", "remove", "rm", "eject", "undo", "revert", "rollback", "clean"),
        "to take sidecars out of manifests: injector uninject FILE; to switch the injector off: injector pause",
    ),
    **dict.fromkeys(("template", "eval", "show", "manifest", "preview", "fmt", "export"), f"{_INJECT}; {_RENDER}"),
    **dict.fromkeys(("build", "kustomize"), _BUILD),
    **dict.fromkeys(("diff", "dry-run", "plan"), "to see what would change: injector inject --diff FILE"),
    **dict.fromkeys(("validate", "verify", "analyze", "analyse", "vet", "policy", "conftest"), _VALIDATE),
    **dict.fromkeys(
        ("verify-install", "status", "health", "doctor", "precheck", "proxy-status", "diagnostics"), _CHECK
    ),
    **dict.fromkeys(("get", "ls", "pods", "ps", "top", "stat"), f"{_LIST}; {_WHY}"),
    **dict.fromkeys(("describe", "why", "experimental", "x", "proxy-config", "debug", "events"), f"{_WHY}; {_CHECK}"),
    "logs": "run kubectl logs POD -c CONTAINER; to see why a pod has no sidecar: injector explain pod/NAME",
    "version": "run injector --version",
    **dict.fromkeys(("help", "man", "usage"), "run injector --help, or injector COMMAND --help"),
    **dict.fromkeys(("init", "scaffold", "generate"), _NEW),
    "create": f"{_NEW}; {_APPLY}",
    **dict.fromkeys(
        ("install", "upgrade", "deploy"),
        f"the chart installs it: helm upgrade --install sidecar-injector ... (docs/installing.md); {_CHECK}",
    ),
    **dict.fromkeys(
        ("uninstall", "purge"),
        "run helm uninstall sidecar-injector; to switch the injector off without uninstalling: injector pause",
    ),
    "unittest": "to run the cases of a template: injector test DIR",
    **dict.fromkeys(("values", "params", "parameters", "schema", "templates", "gallery", "info"), _DOCS),
    **dict.fromkeys(("config", "settings", "configure"), _SETTINGS),
    **dict.fromkeys(("convert", "migrate"), "to make templates of sidecar configs: injector import FILE"),
    "enable": f"write {_LABEL}enabled",
    "disable": f"write {_LABEL}disabled; to switch the injector off: injector pause",
    **dict.fromkeys(
        ("on", "start", "unpause"),
        "to switch the injector on again: injector resume; to run the webhook yourself: injector serve",
    ),
    **dict.fromkeys(("off", "stop"), "to switch the injector off: injector pause"),
    **dict.fromkeys(("webhook", "server", "webserver"), "to run the webhook: injector serve"),
    **dict.fromkeys(("cert", "certificate", "certificates", "gen-certs", "tls", "pki"), "run injector certs --help"),
    **dict.fromkeys(("completion", "plugin", "dashboard", "login", "package", "repo", "pull", "push"), ""),
}
_REPORT = "the report goes to standard error; remove the option, or add 2>/dev/null"
_WRITTEN = "the output goes to standard output; add > OTHER-FILE"
_FILES = "this command reads manifests, not a cluster; run kubectl get deploy NAME -o yaml | injector inject -"
_ONE_BY_ONE = "set one parameter with --param TEMPLATE.PARAMETER=VALUE; set several in a settings file, --settings FILE"
#: Options of other programs: ours, of which the first that the command has is named, or else what to type.
_OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("--set", "--set-string", "--set-json", "--set-file", "--set-literal", "--params", "--parameter", "-p", "-P",
         "--ext-str", "-V", "--ext-code", "--tla-str", "--tla-code", "-e", "--env", "--arg", "-D"),
        ("--param",),
    ),
    **dict.fromkeys(("--config", "--setting", "-c"), ("--settings",)),
    "--values": ("--settings",),
    **dict.fromkeys(("--injectConfigFile", "--injectConfigMapName", "--sidecar-config"), (
        "make templates of it first: injector import FILE; then --templates-dir DIR",
    )),
    **dict.fromkeys(("--meshConfigFile", "--meshConfigMapName", "--valuesFile"), (
        "for the settings of this injector, use --settings FILE",
    )),
    **dict.fromkeys(("--template", "--sidecar", "-t"), ("--templates",)),
    **dict.fromkeys(("--template-dir", "--templates-folder", "-J", "--jpath", "-d"), ("--templates-dir",)),
    **dict.fromkeys(("--write", "--overwrite", "--inplace", "--in-place", "-i", "-w"), (
        "--in-place", "--write", "--watch", _WRITTEN
    )),
    **dict.fromkeys(("--out", "--output-dir", "--outfile", "--output-file", "--outputDir", "-m"), (_WRITTEN,)),
    **dict.fromkeys(("--kube-version", "--kubeVersion", "--api-versions", "--k8s-version", "--version-k8s"), (
        "--kubernetes-version",
    )),
    **dict.fromkeys(("--format", "--json", "--report"), ("--output",)),
    **dict.fromkeys(("-k", "--kustomize", "--enable-helm", "--load-restrictor"), (_BUILD,)),
    **dict.fromkeys(("-R", "--recursive", "-r"), ("remove it: a folder is always searched recursively",)),
    **dict.fromkeys(("-l", "--selector", "--field-selector"), (
        "this command cannot select objects; run kubectl get deploy -l KEY=VALUE -o yaml | injector inject -",
    )),
    "--all": ("--all-namespaces", "give a folder, or all files"),
    **dict.fromkeys(("-A", "--all-namespaces"), ("--all-namespaces", _FILES)),
    **dict.fromkeys(("--dry-run", "--dryrun", "--check-only", "--diff"), (
        "--diff", "leave it out: nothing here changes a cluster"
    )),
    **dict.fromkeys(
        ("--force", "--server-side", "--validate", "--wait", "--timeout", "--grace-period", "--prune", "--record",
         "--save-config", "--field-manager", "--force-conflicts", "--atomic", "--install", "--create-namespace"),
        (
            "this option is for commands that change a cluster; "
            "run injector inject FILE | kubectl apply -f - and give the option to kubectl",
        ),
    ),
    **dict.fromkeys(("-q", "--quiet", "--silent"), (_REPORT,)),
    **dict.fromkeys(("-v", "--verbose", "--debug", "--log-level", "--v"), ("injector explain FILE shows each step",)),
    **dict.fromkeys(
        ("-y", "--yes", "--no-input", "--skip-confirmation"),
        ("remove it: the command never asks for confirmation",),
    ),
    **dict.fromkeys(("--manual", "--ignore-cluster"), ("remove it: for manifests, the command needs no cluster",)),
    **dict.fromkeys(("--color", "--no-color", "--colour"), (
        "remove it; to turn colors off, set NO_COLOR=1 in the environment",
    )),
    **dict.fromkeys(("--kubeconfig", "--context", "--cluster"), (_FILES,)),
    **dict.fromkeys(("-f", "--filename"), ("give FILE as an argument, without an option",)),
    **dict.fromkeys(("--revision", "--istioNamespace", "--release-name", "--name-template", "--generate-name"), (
        "it has no meaning here; leave it out",
    )),
    **dict.fromkeys(("--show-only", "-s"), ("--settings", "remove the option and give only the file or the template")),
    **dict.fromkeys(("--label", "--labels", "--ns-label"), ("--namespace-label",)),
    **dict.fromkeys(("--annotation", "--annotations"), ("--namespace-annotation",)),
    "--namespaces": ("--all-namespaces", "--namespace"),
    **dict.fromkeys(("--files", "--file", "--input", "-I", "--manifest", "--manifests"), ("--filename", "--pod")),
    **dict.fromkeys(("--policy", "--policies"), ("run injector check-manifests --settings FILE",)),
    "--fix": ("no file is changed for you: correct the lines that are named, and run the command again",),
    "--version": ("run injector --version",),
}  # fmt: skip
_OF_RECEIPT = "leave it out: the receipt on the pod says what to take out"
_OF_FOLDERS = "give the template's folder without an option"
_POLICY = (
    "a policy is a template that the settings list at a path. Use --settings FILE with paths: "
    "{/validate/NAME: {type: validating, templates: [TEMPLATE]}}"
)
#: What is to be said about an option in one command.
_OF_COMMAND = {
    "uninject": {
        **dict.fromkeys(("--param", "--templates-dir"), _OF_RECEIPT),
        "--templates": (
            "uninject removes all sidecars. To keep one of several templates, run injector inject --reinject "
            "--templates TEMPLATE FILE"
        ),
    },
    "render": {"--templates": "name the template first: injector render TEMPLATE FILE"},
    "check-manifests": {
        "--templates": "the templates come from `paths` in the settings: use --settings FILE",
        **dict.fromkeys(
            ("--policy", "--policies", "--policy-dir", "--rules", "--rule", "--constraint", "-p", "--data"),
            _POLICY,
        ),
    },
    "explain": dict.fromkeys(
        ("-A", "-l", "--selector", "--all-namespaces", "--all"), "name each object: pod/NAME -n NS"
    ),
    "list": dict.fromkeys(
        ("-l", "--selector"), "this command does not select by label; write --namespace NS, --failed or --outdated"
    ),
    "lint": {
        "--templates-dir": _OF_FOLDERS,
        "--param": "leave it out: lint tries the values that each parameter allows",
    },
    "test": {
        "--templates-dir": _OF_FOLDERS,
        "--param": "set parameters in the case, `params: {NAME: VALUE}`",
        "--settings": "set settings in the case, `settings: {NAME: VALUE}`",
    },
}
#: More about an option of ours, where its name alone leaves a question.
_MORE = {
    "--values": f" {_ONE_BY_ONE[0].upper()}{_ONE_BY_ONE[1:]}.",
    "--dry-run": " Nothing here changes a cluster.",
}
#: Commands that write manifests.
_WRITERS = ("inject", "uninject")
#: Parameters as Linkerd's and Istio's options call them.
_PARAMETERS = {"skip-inbound-ports": "exclude-inbound-ports", "skip-outbound-ports": "exclude-outbound-ports"}
#: Words before or behind a name that say nothing of which command it is.
_NO_INJECTION = ("un", "de", "dis", "e", "no", "remove", "without")


def command_help(name: str, commands: Sequence[str]) -> str:
    """What to say about a command that there is not: what to type, the nearest name, or all that there are."""
    low = name.lower()
    if (said := _COMMANDS.get(low)) is not None:
        return said or "there is nothing like it; injector --help lists the commands"
    if Path(name).suffix.lower() in SUFFIXES or Path(name).is_dir():
        return f"run injector inject {name}"
    near = nearest(low, commands)
    if near == "uninject" and not low.startswith(_NO_INJECTION):
        near = "inject"
    return f"did you mean {near}?" if near else f"the commands are {', '.join(commands)}"


def option_words(error: click.NoSuchOption) -> str:
    """What to say about an option that there is not; "" where click's own words do."""
    option, context = error.option_name, error.ctx
    if context is None:
        return ""
    own = {name for parameter in context.command.params for name in parameter.opts}
    if isinstance(context.command, click.Group):
        if option in ("-v", "-V") or nearest(option, own) is not None:
            return "" if option.startswith("--") else f"No such option '{option}'. Did you mean '--version'?"
        return f"No such option '{option}'. Options come after a command: injector inject {option} ..."
    if option in ("-o", "--output"):
        return f"No such option '{option}'. {_output(context)}"
    here = _OF_COMMAND.get(context.info_name or "", {})
    for meant in (option, *_OPTIONS.get(option, ())):
        if meant in own:
            return f"No such option '{option}'. Did you mean '{meant}'?{_MORE.get(option, '')}"
        if meant in here or not meant.startswith("-"):
            return f"No such option '{option}'; {here.get(meant, meant)}"
    if "--param" in own and (meant := _as_parameter(option, list(context.obj or ()))):
        return f"No such option '{option}'; a parameter of a template is written {meant}"
    return ""


def choice_words(error: click.BadParameter) -> str:
    """What to add about a value of --output or --templates-dir that is none; "" for nothing."""
    if error.param is not None and "--templates-dir" in error.param.opts and error.ctx is not None:
        return _folders(error.param, error.ctx)
    is_output = error.param is not None and "--output" in error.param.opts and error.ctx is not None
    return _output(error.ctx) if is_output and error.ctx and error.ctx.info_name in _WRITERS else ""


def _folders(option: click.Parameter, context: click.Context) -> str:
    """What to write for several folders in one value, of which each is there; "" where it is something else."""
    typed = [text.removeprefix("--templates-dir=") for text in context.obj or ()]
    variable = str(option.envvar or "")
    for value in (*typed, os.environ.get(variable, "")):
        folders = [part for part in re.split(r"[,:;\s]+", value) if part]
        if len(folders) < 2 or Path(value).exists() or not all(Path(folder).is_dir() for folder in folders):
            continue
        if value not in typed:
            return f"Separate folders by `:`; write {variable}={':'.join(folders)}."
        return f"Write {' '.join(f'--templates-dir {folder}' for folder in folders)}."
    return ""


def _output(context: click.Context) -> str:
    """What --output is in this command."""
    if context.info_name in _WRITERS:
        rest = f"to write to a file, add > FILE{', or use --in-place' if context.info_name == 'inject' else ''}"
        return (
            f"Manifests go to standard output, as YAML or JSON like the input; {rest}. --output sets the format of "
            "the report."
        )
    option = next((p for p in context.command.params if "--output" in p.opts), None)
    if option is None:
        return "The output goes to standard output; to write to a file, add > FILE."
    kinds = option.type.choices if isinstance(option.type, click.Choice) else (option.make_metavar(context),)
    return f"Write --output FORM: {', '.join(map(str, kinds))}."


def _as_parameter(option: str, given: Sequence[str]) -> str:
    """`--param` for an option that has the name of a parameter in the gallery; "" where none has it."""
    from injector.cli.injection_sources import gather

    name = option.strip("-").removeprefix("proxy-")
    name = _PARAMETERS.get(name, name)
    owners = [one.name for one in gather().snapshot.catalog if name in one.parameters]
    if not owners:
        return ""
    named = [owner for owner in owners if any(owner in text.split(",") for text in given)]
    owner = (named or [one for one in owners if one == "envoy"] or owners)[0]
    value = next((text.partition("=")[2] for text in given if text.startswith(f"{option}=")), "VALUE")
    return f"--param {owner}.{name}={value}"
