"""Measure `injector list` and the plan of `injector rollout` in a large cluster, and write docs/benchmark-fleet.md.

API server, controllers and objects are real; nobody runs the pods. Each command is a process of its own, which says in
the end how much of the processor it took, and how much memory at most.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.processes import cpu_seconds, environment, resident_mib
from bench.provenance import ROOT, written_by
from bench.workloads import workload
from injector.loading.template_folders import gallery_path, read_gallery
from tests import parts
from tests.cluster.controlplane import NODE, ControlPlane
from tests.cluster.objects import config_map, wait_until_in_force, webhook, webhook_configuration
from tests.cluster.processes import eventually
from tests.cluster.server import InjectorServer

#: Runs a command as its users do, then says its seconds of processor time and its most KiB of memory in a file.
_MEASURED = """\
import sys, time
from injector.cli.main import main
file = sys.argv.pop(1)
try:
    main()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")).split()[1]
    open(file, "w").write(f"{time.process_time()} {peak}")
"""
_LIST, _PLAN = ("list", "-A"), ("rollout", "-A", "--dry-run")
_OWN, _TEMPLATE = "injector-system", "envoy"
#: The pods of a workload, and of how many workloads one was created without the injector.
_REPLICAS, _BARE_SHARE = 5, 10
_READ = ["get", "list"]
#: For how long replicas with `repair` are measured.
_REPAIR_SECONDS = 150
#: Who sees pods and workloads everywhere, and nothing of the injector.
_TEAM = [
    {"apiGroups": [""], "resources": ["pods", "namespaces"], "verbs": [*_READ, "create"]},
    {"apiGroups": ["apps"], "resources": ["deployments", "statefulsets", "daemonsets"], "verbs": _READ},
]


class Cost(NamedTuple):
    """Of one command: seconds of its processor time and on the clock, and the most memory in MiB."""

    cpu: float
    clock: float
    mib: float


@dataclass(frozen=True)
class Fleet:
    """A cluster with many pods: the names of its namespaces, and how many Deployments each has."""

    cluster: ControlPlane
    server: InjectorServer
    namespaces: Sequence[str]
    deployments: int

    def create(self) -> None:
        """All workloads, a share of them while nobody calls the injector."""
        api, files = self.cluster.api, read_gallery(gallery_path())[_TEMPLATE]
        labels, annotations = {"injection": "enabled"}, {"sidecar.injector/templates": _TEMPLATE}
        for name in (_OWN, *self.namespaces):
            metadata = {"name": name, **({} if name == _OWN else {"labels": labels, "annotations": annotations})}
            api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for name in self.namespaces:
            self.cluster.wait_for_default_account(name)
        ours = {"app.kubernetes.io/name": "sidecar-injector"}
        api.create(config_map("settings", {"settings.yaml": "{}"}, ours), _OWN)
        api.create(config_map(_TEMPLATE, dict(files), {"sidecar.injector/template": "true"}), _OWN)
        found_by = webhook("found.injector.bench", {"service": {"namespace": _OWN, "name": "injector"}}, "nowhere")
        configuration = webhook_configuration("found", found_by)
        configuration["metadata"]["labels"] = ours
        api.create(configuration)
        count = len(self.namespaces) * self.deployments
        bare = range(0, count, _BARE_SHARE)
        self._create(bare)
        self._wait(len(bare))
        self.server.start()
        entry = webhook("pods.injector.bench", self.server.client_config(), timeoutSeconds=30,
                        namespaceSelector={"matchLabels": labels})  # fmt: skip
        api.create(webhook_configuration("injector", entry))
        wait_until_in_force(self.cluster, "MutatingWebhookConfiguration")
        self._create([number for number in range(count) if number not in bare])
        self._wait(count)

    def _create(self, numbers: Sequence[int]) -> None:
        """Workloads that differ."""
        with ThreadPoolExecutor(4) as pool:
            spaces = (self.namespaces[number // self.deployments] for number in numbers)
            list(pool.map(self.cluster.api.create, map(_deployment, numbers), spaces))

    def _wait(self, count: int) -> None:
        """Until so many workloads have all their pods, and these run."""

        def available() -> bool:
            ready = [obj["status"].get("availableReplicas") for obj in self.cluster.api.list("Deployment")]
            return ready.count(_REPLICAS) >= count

        eventually("their pods run", available, 3000, every=2)

    def mend(self) -> None:
        """The pods without sidecars get new ones, which have them."""

        def delete(pod: dict[str, Any]) -> None:
            self.cluster.api.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(delete, self._bare()))
        eventually("they are gone", lambda: not self._bare(), 3000, every=2)
        self._wait(len(self.namespaces) * self.deployments)

    def _bare(self) -> list[dict[str, Any]]:
        pods = self.cluster.api.list("Pod")
        return [pod for pod in pods if "sidecar.injector/status" not in pod["metadata"].get("annotations", {})]

    def change_template(self) -> None:
        """Every pod is outdated."""
        overlay = read_gallery(gallery_path())[_TEMPLATE]["overlay.yaml.j2"]
        data = {"overlay.yaml.j2": f"# another version\n{overlay}"}
        self.cluster.api.patch("ConfigMap", _TEMPLATE, {"data": data}, _OWN)

    def cost(self, words: Sequence[str], kubeconfig: Path, planned: int) -> Cost:
        """What a command costs; a plan has to have so many workloads. Raises CalledProcessError and RuntimeError."""
        file, start = self.server.folder / "cost", time.monotonic()
        command = [sys.executable, "-c", _MEASURED, str(file), *words, "--kubeconfig", str(kubeconfig)]
        done = subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT, env=environment()
        )
        clock, lines = time.monotonic() - start, len(done.stdout.splitlines())
        if words == _PLAN and lines != planned + 1:  # with the head, or that there is nothing to do
            raise RuntimeError(f"{lines - 1} workloads are planned, not {planned}")
        cpu, kib = file.read_text().split()
        return Cost(float(cpu), clock, int(kib) / 1024)


def _deployment(number: int) -> dict[str, Any]:
    """One as charts make them."""
    pod = workload(number)
    name = f"web-{number}"
    spec = {**pod["spec"], "nodeName": NODE, "restartPolicy": "Always"}
    for account in ("serviceAccount", "serviceAccountName", "preemptionPolicy", "priority"):
        del spec[account]
    metadata = {"labels": {**pod["metadata"]["labels"], "app": name}, "annotations": pod["metadata"]["annotations"]}
    metadata["labels"].pop("pod-template-hash", None)
    template = {"metadata": metadata, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": _REPLICAS, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


@contextmanager
def _fleet(pods: int, namespaces: int) -> Iterator[Fleet]:
    with tempfile.TemporaryDirectory() as name:
        folders = Path(name) / "control-plane", Path(name) / "injector"
        for folder in folders:
            folder.mkdir()
        with ControlPlane(parts.require(parts.CONTROL_PLANE), folders[0]) as cluster:
            names = [f"team-{number}" for number in range(namespaces)]
            server = InjectorServer(cluster, folders[1], arguments=[f"--namespace={_OWN}"])
            fleet = Fleet(cluster, server, names, pods // namespaces // _REPLICAS)
            try:
                fleet.create()
                yield fleet
            finally:
                server.kill()


def _team(cluster: ControlPlane) -> Path:
    """The kubeconfig of somebody who may read nothing of the injector."""
    group, api = "rbac.authorization.k8s.io", cluster.api
    kind = {"apiVersion": f"{group}/v1", "metadata": {"name": "team"}}
    api.create({**kind, "kind": "ClusterRole", "rules": _TEAM})
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "team"}
    subjects = [{"apiGroup": group, "kind": "User", "name": "team"}]
    api.create({**kind, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects})
    eventually("they are in force", lambda: cluster.api_for("team").list("Namespace"))
    return cluster.kubeconfig_for("team")


def _replicas(fleet: Fleet) -> list[str]:
    """What a replica of the injector takes in this cluster, with and without `repair`, after some looks at all pods."""
    replicas: dict[str, InjectorServer] = {}
    for title, mode in (
        ("`off`", "off"),
        ("`missing`, the leader", "missing"),
        ("`missing`, another replica", "missing"),
    ):
        folder = fleet.server.folder / str(len(replicas))
        folder.mkdir()
        settings = {"repair": {"mode": mode}, "certificates": {"webhooks": "injector"}}
        replicas[title] = InjectorServer(fleet.cluster, folder, settings, arguments=[f"--namespace={_OWN}"])
        replicas[title].start()
    pids = {title: replica.process.popen.pid for title, replica in replicas.items() if replica.process}
    before = {title: cpu_seconds(pid) for title, pid in pids.items()}
    time.sleep(_REPAIR_SECONDS)
    rows = []
    for title, pid in pids.items():
        cpu = 100 * (cpu_seconds(pid) - before[title]) / _REPAIR_SECONDS
        rows.append(f"| {title} | {resident_mib(pid):.1f} | {cpu:.1f} |")
    evicted = replicas["`missing`, the leader"].metric("injector_repair_evictions_total")
    print(*rows, f"{evicted:.0f} evictions", sep="\n", file=sys.stderr)
    for replica in replicas.values():
        replica.kill()
    return rows


def _medians(costs: Sequence[Cost]) -> Cost:
    return Cost(*map(median, zip(*costs, strict=True)))


def _row(title: str, command: str, cost: Cost, floor: Cost) -> str:
    times = f"{cost.cpu:.1f} | {cost.cpu / floor.cpu:.2f} | {cost.clock:.1f} | {cost.clock / floor.clock:.2f}"
    return f"| {title} | {command} | {times} | {cost.mib:.0f} |"


def main() -> None:
    """Run all and write docs/benchmark-fleet.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument("--pods", type=int, default=10_000, help="pods of the cluster (default 10000)")
    parser.add_argument("--namespaces", type=int, default=200, help="their namespaces (default 200)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of both commands (default 5)")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="folder for the page")
    options = parser.parse_args()
    rows: list[str] = []
    replicas: list[str] = []
    with _fleet(options.pods, options.namespaces) as fleet:
        workloads = len(fleet.namespaces) * fleet.deployments
        cases: dict[str, tuple[Callable[[], None], int]] = {
            f"{100 // _BARE_SHARE} % missing": (lambda: None, len(range(0, workloads, _BARE_SHARE))),
            "all current": (fleet.mend, 0),
            "all outdated": (fleet.change_template, workloads),
        }
        for title, (prepare, planned) in cases.items():
            prepare()
            found: dict[tuple[str, ...], list[Cost]] = {_LIST: [], _PLAN: []}
            for _ in range(options.rounds):
                for words, costs in found.items():
                    costs.append(fleet.cost(words, fleet.cluster.kubeconfig, planned))
            listing, plan = map(_medians, found.values())
            rows += [_row(title, "`list`", listing, listing), _row(title, "`rollout --dry-run`", plan, listing)]
            print(*rows[-2:], sep="\n", file=sys.stderr)
            replicas = replicas or _replicas(fleet)  # of the first case: it mends
        tried = fleet.cost(_PLAN, _team(fleet.cluster), workloads)
        rows.append(_row("all outdated", "`rollout --dry-run`, without the settings", tried, listing))
        minor = fleet.cluster.minor
    page = "\n".join(
        [
            "# `list` and `rollout` in a large cluster",
            "",
            f"{written_by('bench-fleet')} The cluster has {options.pods:,} pods of {options.pods // _REPLICAS:,} "
            f"Deployments in {options.namespaces} namespaces, an API server of Kubernetes 1.{minor}, and the template "
            f"`{_TEMPLATE}`. All rows are from one run. `injector list -A` and `injector rollout -A --dry-run` take "
            f"turns, and each of their rows is the median of {options.rounds} rounds. CPU time and memory are those of "
            "the command alone; the elapsed time includes the API server, which shares the cores. The last row was "
            "measured once: a user who may not read the injector's settings. For such a user the command tries a pod "
            "of each workload, three times as a dry run.",
            "",
            "| pods | command | CPU s | against `list` | elapsed s | against `list` | MiB at most |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            "## `repair`",
            "",
            f"In the same cluster with {100 // _BARE_SHARE} % of the pods missing: replicas of the injector, each "
            f"{_REPAIR_SECONDS} s after its start. Nobody asks them about pods. The leader looks at all pods every "
            "30 s, and evicts 30 a minute.",
            "",
            "| `repair.mode` | resident MiB | % of a processor |",
            "| --- | ---: | ---: |",
            *replicas,
            "",
        ]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "benchmark-fleet.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
