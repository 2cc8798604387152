"""The examples in the linter's documentation as templates, and what becomes of pods with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from injector.apply import InjectionContext, apply_templates
from injector.authoring.lint.rule import rules
from injector.inject import inject
from injector.injection import Injection
from injector.loading.template_folders import read_folder
from injector.pods.context import Cluster, Namespace, Object, Request
from injector.pods.decision import decide
from injector.pods.workloads import workload_of_pod
from injector.settings import Settings
from injector.templates.render import render_files
from injector.templates.snapshot import Snapshot, build_snapshot
from injector.templates.variables import Context
from tests.authoring.lint.support import BASE
from tests.cluster.api import ApiError
from tests.cluster.controlplane import ControlPlane

#: The name of the examples' template.
NAME = BASE.name

#: What the API server fills in on its own, and a pod that is created has not.
_OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")

_proven: set[str] = set()
_Test = TypeVar("_Test", bound=Callable[..., object])


def proves(rule: str) -> Callable[[_Test], _Test]:
    """Marks the test that shows what becomes of a rule's bad example."""

    def mark(test: _Test) -> _Test:
        _proven.add(rule)
        return test

    return mark


def proven() -> frozenset[str]:
    """The rules whose bad example some test has marked, of the modules that are imported."""
    return frozenset(_proven)


class Example:
    """One example of a rule, laid over the template that is clean: the only template, and everybody's default."""

    def __init__(self, rule: str, which: str, **settings: Any) -> None:
        """`which` is bad or good; `settings` are the injector's."""
        documentation = rules()[rule].documentation
        files = documentation.bad if which == "bad" else documentation.good
        given = {"templates": (NAME,), **settings}
        sources = {NAME: {**read_folder(BASE), **files}}
        self.snapshot: Snapshot = build_snapshot(Settings(**given), sources, Cluster())

    def inject(self, pod: Object, label: str = "enabled") -> Injection:
        """What the webhook makes of a pod in a namespace with this label."""
        return inject(pod, Namespace("shop", {"injection": label}), self.snapshot)

    def merged(self, pod: Object) -> Object:
        """The pod with everything of the template, also what the injector itself would not let through."""
        where = Namespace("shop", {"injection": "enabled"})
        decision = decide(pod, where, self.snapshot.settings, Request())
        return apply_templates(pod, InjectionContext(where, self.snapshot, decision, None, {}, None)).pod

    def files(self, pod: Object) -> dict[str, str]:
        """The texts of the config files for a pod whose author gives no parameter."""
        template = self.snapshot.catalog.get(NAME)
        assert template is not None
        params = {p.variable: p.default for p in template.parameters.values()}
        containers = pod["spec"]["containers"]
        context = Context(params, pod, Namespace("shop"), workload_of_pod(pod), containers)
        return render_files(template, context)

    def validate(self, name: str) -> tuple[str, ...]:
        """The command that checks a config file."""
        template = self.snapshot.catalog.get(NAME)
        assert template is not None
        return template.files[name].validate


# ------------------------------------------------------------------------------------------------ the API server


def stored(control_plane: ControlPlane, pod: Object, namespace: str) -> Object:
    """The pod as the API server keeps it."""
    return control_plane.api.create(pod, namespace)


def refused(control_plane: ControlPlane, pod: Object, namespace: str) -> str:
    """What the API server says about a pod that it does not take."""
    try:
        control_plane.api.create(pod, namespace)
    except ApiError as error:
        return str(error)
    raise AssertionError("the API server takes it")


def as_webhooks_see(control_plane: ControlPlane, pod: Object, namespace: str) -> Object:
    """The pod with what the API server fills in before it calls any webhook."""
    seen = control_plane.api.create(pod, namespace, dry_run=True)
    metadata = {key: value for key, value in seen["metadata"].items() if key not in _OF_THE_SERVER}
    return {**{key: value for key, value in seen.items() if key != "status"}, "metadata": metadata}
