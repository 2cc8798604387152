"""The errors, in two families.

A `ReviewError` says that what came in could not be read: the sender's mistake, answered with HTTP 4xx.
An `InjectionError` says that a readable pod could not be given its sidecar: answered by the table of reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from injector.diagnostics import Diagnostic, Path, Place
from injector.reasons import Reason


class InjectorError(Exception):
    """Base of every error that this project raises on purpose; its text is one sentence for people."""


class ReviewError(InjectorError):
    """The AdmissionReview cannot be read. `status` is the HTTP status code to answer with (4xx)."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class SettingsError(InjectorError):
    """The settings file, an environment variable or an option holds something that is not allowed.

    If the values are wrong, `diagnostics` says each mistake, and `str()` is the first one as `SOURCE: sentence`.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = (), source: str = "") -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.source = source

    @classmethod
    def of(cls, source: str, *diagnostics: Diagnostic) -> SettingsError:
        """The error of one or more wrong values; `source` is the file, for people."""
        return cls(f"{source}: {diagnostics[0].sentence}", diagnostics, source)

    @property
    def templates(self) -> frozenset[str]:
        """The templates whose parameters have wrong values: the settings may be wrong, or the template."""
        paths = (diagnostic.path for diagnostic in self.diagnostics)
        return frozenset(str(path[1]) for path in paths if path[:1] == ("parameters",) and len(path) > 1)


class DocumentError(InjectorError):
    """A manifest cannot be read or written: not YAML, not JSON, or not an object.

    `diagnostic` says where in the file, where that is known.
    """

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic


#: The HTTP status of a refusal, where a template names no other.
DENIED_CODE = 403


class InjectionError(InjectorError):
    """A pod cannot be injected. `reason` says which line of the table of reasons decides what happens now.

    `diagnostic` says what is wrong: its code is the reason's label, its path leads into the pod, its place is in a
    template. `code` is the HTTP status (400 to 599) that the API server passes on where the pod is refused.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        help: str = "",  # noqa: A002  the field's own name
        path: Path = (),
        place: Place | None = None,
        fields: Mapping[str, Any] | None = None,
        code: int = DENIED_CODE,
        mistake: tuple[Any, ...] = (),
    ) -> None:
        self.diagnostic = Diagnostic(
            reason.label, "error", message, help, path, place or Place(), fields or {}, mistake=mistake
        )
        super().__init__(self.diagnostic.located)
        self.reason = reason
        self.code = code


#: What keeps a template from loading, by the word in brackets behind such an error: no rule of the linter, and never
#: off.
TEMPLATE_ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "syntax": "the file is not valid Jinja, or uses a part of Jinja that is not available",
        "name": "a name, parameter, filter, test, method or field that does not exist",
        "yaml": "template.yaml, or the text that a file renders, is not valid YAML",
        "manifest": "template.yaml says something that is not allowed",
        "parameter": "the declaration of a parameter in template.yaml is not valid",
        "overlay": "the overlay does not render a partial pod",
        "value": "a value has the wrong type for its place, or for an operation such as +",
        "file": "a file is missing, cannot be read, or includes itself",
        "limit": "the template takes too much time or memory, or its output is too large or too deep",
    }
)


class TemplateError(InjectorError):
    """A template is wrong: it does not load, does not compile, or renders something that is no overlay.

    `rule` names what kind of mistake it is, a key of TEMPLATE_ERRORS, and `origin` the folder or ConfigMap that the
    template came from (where none is given, its name). `str()` is one line, `ORIGIN/FILE:LINE:COLUMN: error: message
    [rule]`, as compilers and editors know it.

    Where more than one thing is wrong, `others` are the rest, and `all` is everything in the order of the file.
    """

    further: tuple[TemplateError, ...] = ()

    def __init__(
        self,
        template: str,
        message: str,
        place: Place | None = None,
        *,
        rule: str = "value",
        origin: str = "",
        help: str = "",  # noqa: A002  the field's own name
        path: Path = (),
        fields: Mapping[str, Any] | None = None,
        mistake: tuple[Any, ...] = (),
    ) -> None:
        self.template = template
        located = replace(place or Place(), origin=origin or template)
        self.diagnostic = Diagnostic(rule, "error", message, help, path, located, fields or {}, mistake)
        super().__init__(str(self.diagnostic))

    @classmethod
    def of(cls, template: str, *diagnostics: Diagnostic) -> TemplateError:
        """The error of one or more mistakes of a template."""
        first, *rest = (
            cls(
                template,
                d.message,
                d.place,
                rule=d.code,
                origin=d.place.origin,
                help=d.help,
                path=d.path,
                fields=d.fields,
                mistake=d.mistake,
            )
            for d in diagnostics
        )
        first.further = tuple(rest)
        return first

    @property
    def message(self) -> str:
        """What is wrong."""
        return self.diagnostic.message

    @property
    def rule(self) -> str:
        """What kind of mistake it is."""
        return self.diagnostic.code

    @property
    def origin(self) -> str:
        """The folder or ConfigMap."""
        return self.diagnostic.place.origin

    @property
    def place(self) -> Place | None:
        """Where in the template it is, where that is known."""
        return replace(self.diagnostic.place, origin="") if self.diagnostic.place.file else None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong, and what else is."""
        return tuple(error.diagnostic for error in self.all)

    @property
    def all(self) -> tuple[TemplateError, ...]:
        """This and the others."""
        return (self, *self.further)
