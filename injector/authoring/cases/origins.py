"""Where in the author's file a line of a rendered text comes from: for what a program says about that line."""

from __future__ import annotations

from injector.authoring.cases.bench import Outcome
from injector.authoring.cases.suite import Checked
from injector.errors import InjectionError, Place
from injector.injection import Applied
from injector.making import Task
from injector.pods.context import Object
from injector.pods.workloads import workload_of_object, workload_of_pod
from injector.templates.render import Context
from injector.templates.trace import trace


def author_place(checked: Checked, outcome: Outcome, applied: Applied, file: str, line: int) -> Place | None:
    """The author's place of a 1-based line of a config file; None for YAML and JSON, whose lines are not the author's.

    None as well where what is rendered once more is not what the case rendered: a template before this one may have
    changed what it sees.
    """
    template = applied.template
    text = outcome.config_files.get(template.name, {}).get(file, "")
    source = template.files[file].template
    try:
        traced = trace(template, _context(checked, outcome, applied), source)
    except InjectionError:
        return None
    lines = text.split("\n")
    if traced.value != text or not 0 < line <= len(lines):
        return None
    row = lines[line - 1]
    return traced.place_of(sum(len(before) + 1 for before in lines[: line - 1]) + len(row) - len(row.lstrip()))


def _context(checked: Checked, outcome: Outcome, applied: Applied) -> Context:
    given, injection = checked.given, outcome.injection
    task = Task(outcome.namespace, outcome.snapshot, injection.decision, None, {}, None)
    own = {name for other in injection.applied for name in other.containers}
    containers: list[Object] = [c for c in given.pod["spec"]["containers"] if c["name"] not in own]
    return Context(
        params=applied.parameters.values,
        object=given.pod,
        namespace=outcome.namespace,
        workload=workload_of_pod(given.pod) if given.pod is given.obj else workload_of_object(given.obj),
        containers=containers,
        ports=[
            port["containerPort"]
            for container in containers
            for port in container.get("ports") or []
            if port.get("protocol", "TCP") == "TCP"
        ],
        cluster=outcome.snapshot.cluster,
        native=task.native,
    )
