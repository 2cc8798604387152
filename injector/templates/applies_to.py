"""What a template is for: the requests that its `for` names, and what may be said there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from injector.pods.context import Request

_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")


class Key(NamedTuple):
    """A key of `for`: what is meant without it, what each word of its list has to be, and an example."""

    default: tuple[str, ...]
    word: re.Pattern[str]
    example: str


#: The keys of `for`.
FOR: Final = {
    "apiGroups": Key(("",), re.compile(r"|[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"), '"" (the core group) or apps'),
    "apiVersions": Key(("v1",), re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?"), "v1 or v1beta1"),
    "resources": Key(
        ("pods",),
        re.compile(r"[a-z]([-a-z0-9.]{0,251}[a-z0-9])?(/[a-z]([-a-z0-9]{0,61}[a-z0-9])?)?"),
        "services or pods/ephemeralcontainers",
    ),
    "operations": Key(("CREATE",), re.compile("|".join(_OPERATIONS)), " or ".join(_OPERATIONS)),
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


def words_of(request: Request) -> str:
    """A request in the words of `AppliesTo.words`."""
    return _words((request.operation,), (request.whole_resource,), (request.group,), (request.version,))


def _words(operations: Sequence[str], names: Sequence[str], groups: Sequence[str], versions: Sequence[str]) -> str:
    within = ", ".join(f"{group}/{version}" if group else version for group in groups for version in versions)
    return f"{', '.join(operations)} of {', '.join(names)} ({within})"
