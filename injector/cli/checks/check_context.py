"""What a check is: it looks at a CheckContext, and yields diagnostics; their code is its name, their help what to do.

A `note` is what is well, a `warning` somebody should know, and an `error` alone makes the command fail. Each part of a
context is read from the cluster when it is first asked for, and once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

from injector.cli.live_setup import live_settings, templates_of_paths
from injector.cluster.blocking_client import BlockingClient, ClusterError
from injector.cluster.entries import Entries, entries
from injector.cluster.installation import INSTALLATION, Installation, service_namespaces
from injector.diagnostics import Diagnostic
from injector.pods.context import Object
from injector.settings import Settings
from injector.templates.snapshot import Catalog

_DEFAULT = Installation()


class CheckContext:
    """A cluster and the injector in one of its namespaces. Every part raises ClusterError when it cannot be read.

    Without `namespace` the injector is found by its webhooks; where there are none, it is looked for under the name
    that an installation has by default. Raises ClusterError when there are several.
    """

    def __init__(self, live: BlockingClient, namespace: str | None = None) -> None:
        self.live = live
        self._given = namespace

    @cached_property
    def namespace(self) -> str:
        """Where the injector runs, or should."""
        if self._given:
            return self._given
        names = {name for configuration in self.live.webhooks() for name in service_namespaces(configuration)}
        return self.live.installation() if names else _DEFAULT.namespace

    @cached_property
    def configurations(self) -> tuple[Object, ...]:
        """The injector's webhook configurations."""
        return tuple(c for c in self.live.webhooks() if self.namespace in service_namespaces(c))

    @cached_property
    def entries(self) -> dict[str, Object]:
        """The entries of all these, by name."""
        return {entry["name"]: entry for c in self.configurations for entry in c.get("webhooks") or ()}

    @cached_property
    def of_somebody_else(self) -> bool:
        """Whether people wrote the webhook configurations themselves: no entry has a name as the injector's have, and
        the Service that they call is there.
        """
        names = [(e["name"], c["metadata"]["name"]) for c in self.configurations for e in c.get("webhooks") or ()]
        ours = any(name.endswith(Installation(name=own).entry_name("")) for name, own in names)
        return bool(names) and not ours and self.service is not None

    @cached_property
    def settings(self) -> Settings:
        """The settings of the injector there; raises SettingsError for wrong ones."""
        return live_settings(self.live, self.namespace)

    @cached_property
    def installation(self) -> Installation:
        """Its names, and what its admin chose for the webhook entries, as far as the cluster shows it."""
        name = next((c["metadata"]["name"] for c in self.configurations), _DEFAULT.name)
        bare = Installation(namespace=self.namespace, name=name)
        return chosen_entries(bare, self.entries, entries(self.settings, bare, self.path_templates))

    @cached_property
    def path_templates(self) -> Catalog:
        """The templates at the settings' paths; those that are not there, or are wrong, are left out."""
        return templates_of_paths(self.live, self.namespace, self.settings)

    @cached_property
    def namespaces(self) -> tuple[Object, ...]:
        """All namespaces but those that are being deleted, which take no pods."""
        objects = self.live.objects("/api/v1/namespaces")
        return tuple(space for space in objects if "deletionTimestamp" not in space["metadata"])

    @cached_property
    def deployment(self) -> Object | None:
        """The injector's Deployment: that of its name, else the only one with its label."""
        deployments = list(
            self.live.objects(f"/apis/apps/v1/namespaces/{self.namespace}/deployments", {"labelSelector": INSTALLATION})
        )
        by_name = [deployment for deployment in deployments if deployment["metadata"]["name"] == self.name]
        return next(iter(by_name or deployments), None)

    @cached_property
    def name(self) -> str:
        """The name of the injector's Service; settings need not be readable for it."""
        services = (entry["clientConfig"].get("service") for entry in self.entries.values())
        return next((str(service["name"]) for service in services if service), _DEFAULT.name)

    @cached_property
    def service(self) -> Object | None:
        """The injector's Service, None where there is none."""
        return self.live.found(f"/api/v1/namespaces/{self.namespace}/services/{self.name}")

    @property
    def pod_spec(self) -> Object:
        """The spec of the injector's pods; {} where its Deployment is not found."""
        return cast("Object", (self.deployment or {}).get("spec", {}).get("template", {}).get("spec", {}))

    def is_there(self, api: str, resource: str, name: str) -> bool:
        """Whether the injector's namespace has this object; one that may not be looked at counts as there."""
        try:
            return self.live.found(f"{api}/namespaces/{self.namespace}/{resource}/{name}") is not None
        except ClusterError as error:
            if error.status != 403:
                raise
            return True


def chosen_entries(bare: Installation, live: dict[str, Object], expected: Entries) -> Installation:
    """The installation with what an admin may choose, read back from the entries: port, timeout, failure policies, and
    namespaces beyond those that the settings ask for.

    If the entries disagree, this is a difference and not a choice: the most frequent value counts.
    """
    known = [live[e["name"]] for e in (*expected.mutating, *expected.validating) if e["name"] in live]
    policies = {
        field: live[name].get("failurePolicy", "Fail")
        for field, name in (
            ("enabled_failure_policy", bare.entry_name("enabled")),
            ("opted_in_failure_policy", bare.entry_name("opted-in")),
        )
        if name in live
    }
    return Installation(
        namespace=bare.namespace,
        name=bare.name,
        port=_most((entry["clientConfig"].get("service") or {}).get("port", 443) for entry in known) or bare.port,
        timeout_seconds=_most(entry.get("timeoutSeconds", 10) for entry in known) or bare.timeout_seconds,
        namespaces=_beyond(known, expected),
        **policies,
    )


def _most(values: Iterable[int]) -> int:
    """The most frequent value; 0 if there are none."""
    return next((value for value, _ in Counter(values).most_common(1)), 0)


def _beyond(entries: list[Object], expected: Entries) -> Object | None:
    """What every entry's namespaceSelector has beyond what it should.

    The entry for the injector's own namespace is left out.
    """
    expressions = {
        e["name"]: e["namespaceSelector"]["matchExpressions"]
        for e in (*expected.mutating, *expected.validating)
        if "matchExpressions" in e["namespaceSelector"]
    }
    selectors = [
        (entry.get("namespaceSelector") or {}, expressions[entry["name"]])
        for entry in entries
        if entry["name"] in expressions
    ]
    if not selectors:
        return None
    more = [[e for e in s.get("matchExpressions") or () if e not in mine] for s, mine in selectors]
    labels = [(s.get("matchLabels") or {}).items() for s, _ in selectors]
    common = {
        "matchExpressions": [e for e in more[0] if all(e in selector for selector in more)],
        "matchLabels": dict(pair for pair in labels[0] if all(pair in selector for selector in labels)),
    }
    return common if any(common.values()) else None


_SOME = 5
#: What to do where the injector, or a part of it, is not there.
INSTALL = "install the injector, or apply the chart again (docs/installing.md); -n names the namespace that it runs in"


CheckVerdicts = Iterator[Diagnostic]
#: One check. It may raise ClusterError or SettingsError: then it could not be done, and that is its verdict.
Check = Callable[[CheckContext], CheckVerdicts]


class Section(NamedTuple):
    """A heading and the checks under it."""

    title: str
    checks: tuple[Check, ...]


def good(check: str, text: str, **data: Any) -> Diagnostic:
    """All is well."""
    return Diagnostic(check, "note", text, fields=data)


def warning(check: str, text: str, to_do: str, **data: Any) -> Diagnostic:
    """It works, or could not be looked at; somebody should know."""
    return Diagnostic(check, "warning", text, to_do, fields=data)


def bad(check: str, text: str, to_do: str, **data: Any) -> Diagnostic:
    """Pods do not get their sidecars, or will not, or the wrong ones do."""
    return Diagnostic(check, "error", text, to_do, fields=data)


def some(names: Sequence[str]) -> str:
    """Names in a sentence; of many the first five and how many more there are."""
    return ", ".join(names[:_SOME]) + (f" and {len(names) - _SOME} more" if len(names) > _SOME else "")
