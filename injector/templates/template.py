"""What a template is, once it is loaded: plain, immutable data, its compiled program, and what it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from injector.budget import charge
from injector.pods.context import Namespace, Object, Request
from injector.pods.selectors import matches

if TYPE_CHECKING:
    from injector.templates.program import Program

OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")


class RuleKey(NamedTuple):
    """A key of `for`: what is meant without it, what each word of its list has to be, and an example."""

    default: tuple[str, ...]
    word: re.Pattern[str]
    example: str


#: The keys of `for`.
FOR: Final = {
    "apiGroups": RuleKey(("",), re.compile(r"|[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"), '"" (the core group) or apps'),
    "apiVersions": RuleKey(("v1",), re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?"), "v1 or v1beta1"),
    "resources": RuleKey(
        ("pods",),
        re.compile(r"[a-z]([-a-z0-9.]{0,251}[a-z0-9])?(/[a-z]([-a-z0-9]{0,61}[a-z0-9])?)?"),
        "services or pods/ephemeralcontainers",
    ),
    "operations": RuleKey(("CREATE",), re.compile("|".join(OPERATIONS)), " or ".join(OPERATIONS)),
}


@dataclass(frozen=True, slots=True)
class AppliesTo:
    """The requests that a template is for, as in a rule of a webhook configuration, where nothing is `*`.

    A resource may be a subresource: `pods/ephemeralcontainers`.
    https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules
    """

    api_groups: tuple[str, ...] = ("",)
    api_versions: tuple[str, ...] = ("v1",)
    resources: tuple[str, ...] = ("pods",)
    operations: tuple[str, ...] = ("CREATE",)

    def covers(self, request: Request) -> bool:
        """Whether a request is one of these."""
        return (
            request.group in self.api_groups
            and request.version in self.api_versions
            and request.whole_resource in self.resources
            and request.operation in self.operations
        )

    @property
    def words(self) -> str:
        """For people, as in `CREATE, UPDATE of deployments (apps/v1)`."""
        return _words(self.operations, self.resources, self.api_groups, self.api_versions)

    @property
    def pods_created(self) -> bool:
        """Whether the creation of a pod is one of these."""
        return self.covers(Request())

    @property
    def only_pods(self) -> bool:
        """Whether it is for nothing but pods, and what is below them."""
        return self.api_groups == ("",) and all(r.partition("/")[0] == "pods" for r in self.resources)


def request_words(request: Request) -> str:
    """A request in the words of `AppliesTo.words`."""
    return _words((request.operation,), (request.whole_resource,), (request.group,), (request.version,))


def _words(operations: Sequence[str], names: Sequence[str], groups: Sequence[str], versions: Sequence[str]) -> str:
    within = ", ".join(f"{group}/{version}" if group else version for group in groups for version in versions)
    return f"{', '.join(operations)} of {', '.join(names)} ({within})"


#: The file that describes a template, and the one that renders its overlay.
MANIFEST: Final = "template.yaml"
OVERLAY: Final = "overlay.yaml.j2"
#: Among a template's files what its ConfigMap's label and annotation say, as YAML; no file or key can have this name.
METADATA: Final = "(metadata)"
#: Characters of a template's files: a ConfigMap holds 1 MiB, and a larger one could not be delivered as one.
LARGEST: Final = 1024 * 1024
#: The keys of template.yaml that make a template the next version of another; they say nothing of what it does.
VERSION_KEYS: Final = ("version-of", "stage")
#: All workloads, in hundredths of a percent.
WHOLE: Final = 10_000
#: What a ConfigMap's key may be (Kubernetes API reference, ConfigMap v1), and so a template's file.
FILE: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")


class _Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "UNSET"


#: Who may set a parameter, nearest to the pod first. Whoever types a command may always.
SETTERS: Final = ("pod", "namespace", "settings")
#: The end of a family's name in template.yaml: of parameters with a common prefix.
FAMILY: Final = "-*"
#: The default of a parameter that has none.
UNSET: Final = _Unset.UNSET


#: A JSON Schema; the declaration of a parameter is one with a few keywords of ours.
JsonSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its JSON Schema, and its default, `UNSET` where it has none.

    `name` is what annotations and settings say (kebab-case), `variable` what templates say (snake_case). A family's
    ends in `-*`, and `member` is the parameter that each of its members is.
    """

    name: str
    schema: JsonSchema
    description: str = ""
    default: Any = UNSET
    required: bool = False
    setters: tuple[str, ...] = SETTERS  #: those of `SETTERS` who may set it
    open: bool = False  #: whether pods of a `required` namespace may set it too
    check: Any = field(default=None, repr=False, compare=False)  #: a `value_check.ValueCheck` of the schema
    member: Parameter | None = None
    secret: bool = False  #: whether its value is kept out of receipts, messages and `injector explain`

    def masked(self, value: Any) -> Any:
        """A value to show to people: of a secret parameter only that there is one."""
        return "(secret)" if self.secret else value

    @property
    def variable(self) -> str:
        """The name in templates: `params.<variable>`."""
        return self.name.removesuffix(FAMILY).replace("-", "_")

    def settable(self, guarded: bool) -> tuple[str, ...]:
        """Who may set it; with `guarded`, as in a `required` namespace, a pod may only if the parameter is open."""
        return tuple(who for who in self.setters if who != "pod") if guarded and not self.open else self.setters

    @property
    def type(self) -> str:
        """The JSON Schema type: string, integer, number, boolean, array or object."""
        return str(self.schema["type"])


class FileSpec(NamedTuple):
    """A config file: its name in the ConfigMap, the source that renders it, the command that validates it (or none).

    `syntax` is that of a text file (a key of `quoting.SYNTAXES`), for YAML and JSON what expands their strings (one of
    `holes.EXPANSIONS`); "" where it is not known.
    """

    name: str
    template: str
    validate: tuple[str, ...] = ()
    syntax: str = ""


class Stage(NamedTuple):
    """Those of `share` (in hundredths of a percent of the workloads) whose namespace and labels the selectors match.

    A selector that is None leaves out nobody.
    """

    share: int = WHOLE
    namespaces: Object | None = None
    selector: Object | None = None

    @property
    def words(self) -> str:
        """For people, as in `10 % of the workloads, in namespaces that match`."""
        parts = [f"{percent(self.share)} of the workloads"]
        parts += ["in namespaces that `stage.namespaces` matches"] if self.namespaces is not None else []
        parts += ["with labels that `stage.selector` matches"] if self.selector is not None else []
        return ", ".join(parts)

    def selects(self, namespace: Namespace, labels: Object) -> bool:
        """Whether the selectors match a namespace and a pod's labels."""
        in_namespace = self.namespaces is None or matches(self.namespaces, namespace.labels)
        return in_namespace and (self.selector is None or matches(self.selector, labels))


def percent(share: int) -> str:
    """Hundredths of a percent as people write them: `10%`, `0.5%`."""
    return f"{share / 100:g}%"


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A template as loaded from its sources; equal when its names and its sources are.

    The next version of a template has that one's `name`, and so its parameters, annotations and ConfigMaps.
    """

    name: str
    sources: Mapping[str, str]
    digest: str
    description: str
    parameters: Mapping[str, Parameter]
    files: Mapping[str, FileSpec]
    delivery: Literal["configmap", "annotation"]
    host_network: Literal["skip", "inject"]
    selector: Object | None
    namespaces: Object | None
    overridable: frozenset[str]
    shared: tuple[str, ...]  #: volumes that other containers may mount
    #: The sidecar to which an init container redirects the pod's traffic, by the name of the init container.
    redirects: Mapping[str, str]
    applies_to: AppliesTo
    origin: str  #: where it came from, for people: a folder, a ConfigMap
    program: Program = field(repr=False)
    own_name: str  #: that of its folder or ConfigMap
    stage: Stage | None = None  #: whose pods get it, of a next version; None for one that is none

    def shares(self, volume: str) -> bool:
        """Whether containers of others may mount this volume of the template's; a `*` stands for any text."""
        charge(len(self.shared))
        return any(fnmatchcase(volume, pattern) for pattern in self.shared)

    @property
    def why_not_injected(self) -> str:
        """Why no pod can be given it by injection but only at a path; "" for a template that can be."""
        if not self.applies_to.pods_created:
            return f"it is for {self.applies_to.words}"
        review_names = self.program.review_names
        return f"it reads `{review_names[0]}`, which can differ between the pods of a workload" if review_names else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and (self.own_name, self.sources) == (other.own_name, other.sources)

    def __hash__(self) -> int:
        return hash((self.own_name, self.digest))
