"""States of live pods that a generator makes: `list`, `explain`, `rollout --dry-run` and `repair` say the true one."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from injector.cli.live_setup import live_sources
from injector.cli.main import cli
from injector.cluster.blocking_client import BlockingClient
from injector.cluster.client import Client
from injector.cluster.namespaces import namespace_of
from injector.cluster.rollout.pod_states import NOT_CALLED, MissingPods
from injector.inject import inject
from injector.injection import Injection
from injector.pods.context import Namespace
from tests.cluster.api import Object
from tests.cluster.conftest import ConfigureWebhooks, NamespaceFactory
from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import config_map, deployment, pod, pods_of, webhook
from tests.cluster.processes import eventually
from tests.cluster.rollout_shop import MANIFEST, OURS, OVERLAY
from tests.cluster.server import InjectorServer

PREFIX = "sidecar.injector"
TEMPLATES = f"{PREFIX}/templates"
#: When a namespace has the label, as seen from the creation of the pods.
SPACES = ("before", "after", "none", "until")
#: What the pod says of itself; whether it was created while nobody called the injector; and what is done to it later.
SAYS, PAUSED = ("", "no", "wrong"), (False, True)
LATER = ("", "opt-out", "image", "unmarked", "forged")
KINDS = ("owned", "bare", "ended")
#: Pods in a namespace at most.
_MOST = 100


class Case(NamedTuple):
    """A pod, by what happens to it. That of a template which changes is outdated then."""

    space: str
    says: str
    paused: bool
    later: str
    kind: str
    changes: bool

    @property
    def annotations(self) -> dict[str, str]:
        template = "wrong" if self.says == "wrong" else "other" if self.changes else "logger"
        return {TEMPLATES: template, **({f"{PREFIX}/inject": "no"} if self.says == "no" else {})}

    @property
    def has_sidecar(self) -> bool:
        return self.space in ("before", "until") and not self.paused and not self.says

    @property
    def state(self) -> str:
        """The true one, with the code of its cause."""
        asks = self.space in ("before", "after") and self.says != "no" and self.later != "opt-out"
        called = self.space in ("before", "until") and not self.paused
        if self.kind == "ended":
            return "ended"
        if self.has_sidecar and self.later != "unmarked":
            causes = ("templates-changed",) if not asks else ("template-changed",) if self.changes else ()
            changed = self.later == "image"
            state = "outdated" if causes else "changed" if changed else "current"
            return " ".join([state, *causes, *(("image-changed",) if changed else ())])
        if called and self.says == "wrong" and self.later != "forged":
            return "failed failed"
        if not asks:
            return "not-needed"
        if self.has_sidecar:
            return "current"  # its containers say so
        why = "namespace-later" if self.space == "after" else NOT_CALLED
        return f"missing {'marks-alone' if self.later == 'forged' else why}"


def cases(count: int, seed: int) -> list[Case]:
    every = [Case(*each) for each in itertools.product(SPACES, SAYS, PAUSED, LATER, KINDS, (False, True))]
    # only what is done to a pod that can have it done
    every = [c for c in every if c.has_sidecar or c.later not in ("image", "unmarked")]
    every = [c for c in every if not (c.has_sidecar and c.later == "forged") and not (c.says and c.changes)]
    chosen = random.Random(seed)
    chosen.shuffle(every)
    each = {(c.later, c.state): c for c in every}.values()  # whatever is done to a pod, with each state after it
    owned = [c for c in every if c.kind == "owned"]  # which the others say less of
    return [*each, *(chosen.choice(owned if number % 3 else every) for number in range(count - len(each)))]


class World:
    """Namespaces and pods of some cases, in a cluster with one injector."""

    def __init__(self, control_plane: ControlPlane, namespace: NamespaceFactory, all_cases: list[Case]) -> None:
        self.control_plane, self.api, self.own = control_plane, control_plane.api, namespace()
        self.cases: dict[tuple[str, str], Case] = {}  # by namespace and name
        self.pods: dict[tuple[str, str], str] = {}  # their pods
        self.spaces: dict[str, str] = {}
        files = {name: {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY} for name in ("logger", "other")}
        self.api.create(config_map("settings", {"settings.yaml": "{}"}, labels=OURS), self.own)
        for name, data in files.items():
            self.api.create(config_map(name, data, labels={f"{PREFIX}/template": "true"}), self.own)
        for kind in SPACES:
            for at in range(0, len(own := [case for case in all_cases if case.space == kind]), _MOST):
                labels = {"injection": "enabled"} if kind in ("before", "until") else {}
                name = namespace(labels={"states": self.own, **labels})
                self.spaces[name] = kind
                self.cases |= {(name, f"web-{number}"): case for number, case in enumerate(own[at : at + _MOST])}

    def create(self, *, paused: bool) -> None:
        """The pods that are created while nobody calls the injector, or the others."""
        keys = [key for key, case in self.cases.items() if case.paused == paused]
        for space, name in keys:
            case = self.cases[space, name]
            make: Callable[..., Object] = deployment if case.kind == "owned" else pod
            # on no node, so that nothing else writes its status
            self.api.create(make(name, annotations=case.annotations, nodeName=None), space)
        for space, name in keys:
            self.pods[space, name] = name
            if self.cases[space, name].kind == "owned":
                [made] = eventually(f"{name} has its pod", lambda: pods_of(self.api, name, space))  # noqa: B023
                self.pods[space, name] = made["metadata"]["name"]

    def go_on(self) -> None:
        """What is done later."""
        for name, kind in self.spaces.items():
            if kind in ("after", "until"):
                label = "enabled" if kind == "after" else None
                self.api.patch("Namespace", name, {"metadata": {"labels": {"injection": label}}})
        for key, case in self.cases.items():
            url = f"/api/v1/namespaces/{key[0]}/pods/{self.pods[key]}"
            merge, strategic = "application/merge-patch+json", "application/strategic-merge-patch+json"
            if case.later == "image":
                field = "initContainers" if self.control_plane.minor >= 32 else "containers"
                change = {"spec": {field: [{"name": "logger", "image": "logger:by-hand"}]}}
                self.api.call("PATCH", f"{url}?fieldManager=kubectl-set", change, strategic)
            elif annotations := self._later(case):
                self.api.call("PATCH", url, {"metadata": {"annotations": annotations}}, merge)
            if case.kind == "ended":
                self.api.call("PATCH", f"{url}/status", {"status": {"phase": "Succeeded"}}, merge)
        data = {"template.yaml": MANIFEST, "overlay.yaml.j2": OVERLAY.replace("logger:1", "logger:2")}
        self.api.patch("ConfigMap", "other", {"data": data}, self.own)

    def _later(self, case: Case) -> dict[str, str | None]:
        marks: dict[str, str | None] = dict.fromkeys((f"{PREFIX}/status", f"{PREFIX}/receipt"))
        receipt = {"version": 1, "generation": "x", "templates": {"logger": "x"}}
        forged = {
            f"{PREFIX}/status": "injected",
            f"{PREFIX}/receipt": json.dumps({**receipt, "added": ["/spec/containers/logger"]}),
        }
        return {"opt-out": {f"{PREFIX}/inject": "no"}, "unmarked": marks, "forged": forged}.get(case.later, {})

    def commanded(self, *words: str) -> Any:
        where = [
            "--kubeconfig",
            str(self.control_plane.kubeconfig),
            "--injector-namespace",
            self.own,
            "--output",
            "json",
        ]
        result = CliRunner().invoke(cli, [*words, *where], standalone_mode=False)
        if result.exception is not None:
            raise result.exception
        return json.JSONDecoder().raw_decode(result.stdout)[0]

    def listed(self) -> dict[tuple[str, str], str]:
        """By namespace and pod: its state and the codes of its causes."""
        return {
            (row["namespace"], row["pod"]): _state(row)
            for space in self.spaces
            for row in self.commanded("list", "-n", space)["pods"]
        }

    def explained(self) -> Iterator[tuple[tuple[str, str], Any]]:
        for space in self.spaces:
            names = [self.pods[key] for key in self.cases if key[0] == space]
            if names:
                explained = self.commanded("explain", *(f"pod/{name}" for name in names), "-n", space)
                yield from ((((space, name)), each) for name, each in zip(names, explained, strict=True))

    def planned(self) -> dict[tuple[str, str, str], str]:
        """By namespace and workload: its state, or that it is left alone."""
        found = {}
        for space in self.spaces:
            plan = self.commanded("rollout", "--dry-run", "-n", space)
            found |= {(space, *w["workload"].split("/")): w["state"] for w in plan["workloads"]}
            found |= {(space, *w["workload"].split("/")): "left alone" for w in plan["leftAlone"]}
        return found

    def repaired(self, configuration: Object) -> set[tuple[str, str]]:
        """The pods that `repair` would evict."""
        with BlockingClient(str(self.control_plane.kubeconfig)) as live:
            sources, _ = live_sources(live, self.own)
            spaces = {name: namespace_of(self.api.get("Namespace", name)) for name in self.spaces}

            async def replay(pod: Object, namespace: Namespace) -> Injection:
                return inject(pod, namespace, sources.snapshot)

            async def look(client: Client) -> set[tuple[str, str]]:
                missing = MissingPods(client, self.own, spaces.get, lambda: sources.settings, replay)
                found: set[tuple[str, str]] = set()
                while True:  # a look reads some pods of a namespace
                    before, found = found, {(e.namespace, p) for e in await missing.find(configuration) for p in e.pods}
                    if found == before:
                        return found

            return live.run(look, "repair")


def _state(row: Object) -> str:
    return " ".join([row["state"], *(cause["code"] for cause in row.get("causes", ()))])


@pytest.mark.parametrize(("count", "seed"), [(60, 1), pytest.param(2000, 2, marks=pytest.mark.soak(minutes=20))])
def test_one_answer_about_a_live_pod(
    count: int,
    seed: int,
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    injector_server: Callable[..., InjectorServer],
    configure_webhooks: ConfigureWebhooks,
) -> None:
    world = World(control_plane, namespace, cases(count, seed))
    server = injector_server(arguments=[f"--namespace={world.own}"])
    time.sleep(1.1)  # times of the API have whole seconds
    world.create(paused=True)
    selector = {"matchLabels": {"states": world.own, "injection": "enabled"}}
    entry = webhook("states.injector.example", server.client_config(), namespaceSelector=selector)
    configuration = configure_webhooks(entry)
    world.create(paused=False)
    time.sleep(1.1)
    world.go_on()

    true = {(space, world.pods[space, name]): case.state for (space, name), case in world.cases.items()}
    unlisted = ("ended", "not-needed")
    assert world.listed() == {key: state for key, state in true.items() if state not in unlisted}
    for key, explanation in world.explained():
        assert _state(explanation["pod"]) == true[key], (key, explanation["notes"])
    plan, repaired = {}, set()
    for (space, name), case in world.cases.items():
        state, kind = case.state.split()[0], "deployment" if case.kind == "owned" else "pod"
        if state in ("missing", "failed", "outdated"):
            spared = kind == "pod" or "templates-changed" in case.state
            plan[space, kind, name] = "left alone" if spared else state
        if case.state == f"missing {NOT_CALLED}" and kind == "deployment" and not case.says:
            repaired.add((space, world.pods[space, name]))
    assert world.planned() == plan
    assert world.repaired(configuration) == repaired
