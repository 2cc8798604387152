"""What a template is, once it is loaded: plain, immutable data, and its compiled program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from injector.pods.context import Object
from injector.templates.applies_to import AppliesTo

if TYPE_CHECKING:
    from injector.templates.program import Program

#: The file that describes a template, and the one that renders its overlay.
MANIFEST: Final = "template.yaml"
OVERLAY: Final = "overlay.yaml.j2"
#: What a ConfigMap's key may be (Kubernetes API reference, ConfigMap v1), and so a template's file.
FILE: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")


class _Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"


#: Who may set a parameter, nearest to the pod first. Whoever types a command may always.
SETTERS: Final = ("pod", "namespace", "settings")
#: The default of a parameter that has none.
UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its JSON Schema, and its default, `UNSET` where it has none.

    `name` is what annotations and settings say (kebab-case), `variable` what templates say (snake_case).
    """

    name: str
    schema: Mapping[str, Any]
    description: str = ""
    default: Any = UNSET
    required: bool = False
    setters: tuple[str, ...] = SETTERS  #: those of `SETTERS` who may set it
    check: Any = field(default=None, repr=False, compare=False)  #: the compiled schema, see `parameters`

    @property
    def variable(self) -> str:
        """The name in templates: `params.<variable>`."""
        return self.name.replace("-", "_")

    @property
    def type(self) -> str:
        """The JSON Schema type: string, integer, number, boolean, array or object."""
        return str(self.schema["type"])


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A config file: its name in the ConfigMap, the source that renders it, the command that validates it (or none)."""

    name: str
    template: str
    validate: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """A template as loaded from its sources; equal when its name and its sources are."""

    name: str
    sources: Mapping[str, str]
    digest: str
    description: str = field(default="", compare=False)
    parameters: Mapping[str, Parameter] = field(default_factory=dict, compare=False)
    files: Mapping[str, FileSpec] = field(default_factory=dict, compare=False)
    delivery: Literal["configmap", "annotation"] = field(default="configmap", compare=False)
    host_network: Literal["skip", "inject"] = field(default="skip", compare=False)
    selector: Object | None = field(default=None, compare=False)
    namespaces: Object | None = field(default=None, compare=False)
    overridable: frozenset[str] = field(default=frozenset(), compare=False)
    applies_to: AppliesTo = field(default=AppliesTo(), compare=False)
    origin: str = field(default="", compare=False)  #: where it came from, for people: a folder, a ConfigMap
    program: Program = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    @property
    def why_not_injected(self) -> str:
        """Why no pod can be given it by injection but only at a path; "" for a template that can be."""
        if not self.applies_to.pods_created:
            return f"it is for {self.applies_to.words}"
        seen = self.program.review_names
        return f"it reads `{seen[0]}`, which differs from replica to replica" if seen else ""

    def __hash__(self) -> int:
        return hash((self.name, self.digest))
