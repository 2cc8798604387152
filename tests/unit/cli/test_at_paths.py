"""`inject`, `explain`, `render` where the settings have `paths`: objects of every kind, and the pods of workloads."""

import json
from functools import partial

import pytest

from injector.cli import injection_sources
from injector.cli.admission import Admission, asked_about
from injector.cli.explanation import looks_of
from injector.cli.injection_sources import Sources
from injector.pods.context import Cluster, Namespace
from injector.policies.request import is_for
from injector.settings import parse_settings
from injector.templates.snapshot import build_snapshot
from tests.unit.cli.manifests import POD, SERVICE, WORKLOADS

#: The label of an injected pod.
MARKED = {"sidecar.injector/status": "injected"}
TEMPLATES = {
    "claim": (
        "for: {resources: [persistentvolumeclaims]}\n"
        "parameters: {class: {type: string, default: fast, description: Its class.}}\n",
        "spec:\n  storageClassName: {{ params.class }}\n",
    ),
    "ports": (
        "for: {resources: [services], operations: [CREATE, UPDATE]}\n",
        '{% if object.spec.ports[0].port < 1024 and operation == "CREATE" %}'
        '{{ deny("low port for " ~ user.username) }}{% endif %}\n',
    ),
    "whose": ("for: {resources: [services]}\n", '{{ deny("by " ~ request.userInfo.username | default("") ~ "?") }}\n'),
    "which": ("for: {resources: [services]}\n", '{{ deny("called " ~ request.name) }}\n'),
    "chosen": (
        "for: {resources: [services]}\nnamespaces: {matchLabels: {tier: a}}\nselector: {matchLabels: {app: b}}\n",
        "metadata: {labels: {chosen: yes it is}}\n",
    ),
    "label": ("{}\n", "metadata: {labels: {of: '{{ workload.kind }}-{{ workload.name }}'}}\n"),
    "flows": (
        "for: {apiGroups: [argoproj.io], apiVersions: [v1alpha1], resources: [workflows]}\n",
        "metadata: {labels: {flow: yes it is}}\n",
    ),
    "bare": (
        "{}\n",
        '{% if not object.metadata.ownerReferences | default([]) %}{{ deny("a bare pod") }}{% endif %}\n',
    ),
    "maker": ("{}\n", '{% if "replicaset" in user.username %}{{ deny("made by " ~ user.username) }}{% endif %}\n'),
    "sized": (
        "for: {apiGroups: [apps], resources: [deployments]}\n",
        "spec: {replicas: 2}\n",
    ),
    "late": (
        "{}\n",
        "{% if object.metadata.labels.of is defined %}metadata: {labels: {late: 'true'}}{% endif %}\n",
    ),
}
CLAIM = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce]}\n"
LABELLED = SERVICE.replace("{name: web}", "{name: web, labels: {app: b}}")


@pytest.fixture(scope="module")
def gallery():
    return injection_sources.gather().snapshot


@pytest.fixture
def at(run, templates_dir, tmp_path, gallery):
    """Run a command with settings that have these paths: `/path=type:failurePolicy:template,template`."""
    for name, (manifest, overlay) in TEMPLATES.items():
        folder = templates_dir / name
        folder.mkdir()
        (folder / "template.yaml").write_text(
            f"description: x\n{manifest}" if manifest != "{}\n" else "description: x\n"
        )
        (folder / "overlay.yaml.j2").write_text(overlay)

    def call(command, paths, *args, stdin="", **more):
        settings = {"templates": ["logger"], "paths": {}, **more}
        for one in paths.split():
            path, _, said = one.partition("=")
            kind, policy, names = said.split(":")
            settings["paths"][path] = {"type": kind, "failurePolicy": policy, "templates": names.split(",")}
        file = tmp_path / "settings.json"
        file.write_text(json.dumps(settings))
        with pytest.MonkeyPatch.context() as patch:
            if command in ("inject", "check-manifests", "explain"):  # the gallery does not change between commands
                patch.setattr(injection_sources, "build_snapshot", partial(build_snapshot, previous=gallery))
            return run(command, "--settings", str(file), *args, stdin=stdin)

    return call


CLAIMS = "/claims=mutating:Ignore:claim"
PORTS = "/ports=validating:Fail:ports"


# ------------------------------------------------------------------------------------------------------------ inject


def test_what_is_completed_is_written_and_all_else_keeps_its_bytes(at, golden):
    done = at("inject", CLAIMS, "-", stdin=f"{SERVICE}---\n{CLAIM}---\nkind: Unknown\n")
    assert done.code == 0
    assert done.out.startswith(f"{SERVICE}---\n")
    assert done.documents[1]["spec"] == {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    assert "namespace" not in done.documents[1]["metadata"]
    golden(done.err)
    again = at("inject", CLAIMS, "-", stdin=done.out)
    assert again.out == done.out
    golden(again.err)
    assert at("uninject", CLAIMS, "-", stdin=done.out).out == done.out


def test_a_resource_whose_pods_are_unknown_is_amended_at_its_path(at):
    workflow = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n"
    text = f"{workflow}  templates: [{{name: a, container: {{name: main, image: 'a:1'}}}}]\n"
    done = at("inject", "/flows=mutating:Fail:flows", "--output", "json", "-", stdin=text)
    lines = json.loads(done.err)["objects"]
    assert [line["outcome"] for line in lines] == ["skipped", "amended"]
    assert (lines[0]["reason"], lines[1]["templates"]) == ("unknown-pod-template", ["flows"])
    assert done.documents[0]["metadata"]["labels"] == {"flow": "yes it is"}


def test_a_refusal_writes_nothing(at, golden):
    done = at("inject", f"{CLAIMS} {PORTS}", "--user", "bob", "-", stdin=f"{CLAIM}---\n{SERVICE}")
    assert (done.code, done.out) == (1, "")
    golden(done.err)


def test_the_report_as_json(at):
    done = at("inject", f"{CLAIMS} {PORTS}", "--user", "bob", "--output", "json", "-", stdin=f"{CLAIM}---\n{SERVICE}")
    claim, service = json.loads(done.err)["objects"]
    assert (claim["outcome"], claim["templates"], claim["paths"]) == ("amended", ["claim"], ["/claims"])
    assert (service["outcome"], service["reason"], service["paths"]) == ("refused", "denied", ["/ports"])


def test_policies_only_puts_no_sidecar_in(at, golden):
    text = f"{CLAIM}---\n{POD}"
    done = at("inject", CLAIMS, "--policies-only", "-", stdin=text)
    assert done.code == 0
    assert done.documents[0]["spec"]["storageClassName"] == "fast"
    assert done.out.endswith(f"---\n{POD}")
    golden(done.err)


def test_manifests_are_checked_before_anybody_applies_them(at, golden):
    words = (f"{CLAIMS} {PORTS}", "--user", "bob")
    text = f"{CLAIM}---\n{POD}---\n{SERVICE}"
    done = at("check-manifests", *words, "-", stdin=text)
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    assert at("check-manifests", *words, "-", stdin=CLAIM).code == 0


def test_what_is_refused_as_a_program_reads_it(at, tmp_path, golden):
    file = tmp_path / "shop.yaml"
    file.write_text(f"{CLAIM}---\n{SERVICE}")
    words = ("check-manifests", f"{CLAIMS} {PORTS}", "--user", "bob", str(file), "--output")
    [found] = json.loads(at(*words, "json").out)["problems"]
    assert (found["rule"], found["severity"], found["file"], found["line"]) == ("denied", "error", str(file), 5)
    golden(found["message"])
    [run] = json.loads(at(*words, "sarif").out)["runs"]
    golden(run["tool"]["driver"]["name"])
    [result] = run["results"]
    [location] = result["locations"]
    assert (result["ruleId"], result["level"]) == ("denied", "error")
    assert location["physicalLocation"]["region"] == {"startLine": 5}
    golden(at(*words, "github").out)


def test_without_paths_there_is_nothing_to_check(program, golden):
    done = program("check-manifests", "-", stdin=SERVICE)
    assert (done.code, done.out) == (2, "")
    golden(done.err)


def test_who_asks_is_not_known_and_that_is_said(at, golden):
    done = at("inject", PORTS, "-", stdin=SERVICE)
    assert done.code == 1
    golden(done.err)
    let = at("inject", PORTS.replace("Fail", "Ignore"), "-", stdin=SERVICE)
    assert (let.code, let.out) == (0, SERVICE)
    golden(let.err)


@pytest.mark.parametrize("template", ["whose", "which", "which,maker"])
def test_it_is_said_of_what_looks_at_the_user_alone(at, template, golden):
    done = at("inject", f"/x=validating:Fail:{template}", "-", stdin=SERVICE)
    golden(done.err)


def test_a_template_that_fails_leaves_the_others_their_say(at):
    done = at("inject", "/both=mutating:Ignore:ports,chosen", "--namespace-label", "tier=a", "-", stdin=LABELLED)
    assert done.documents[0]["metadata"]["labels"] == {"app": "b", "chosen": "yes it is"}
    assert (
        "service/web: amended with chosen\n  warning: left out: template-failed: ports/overlay.yaml.j2:1:" in done.err
    )
    trail = at("explain", "/both=mutating:Ignore:ports,chosen", "--namespace-label", "tier=a", "-", stdin=LABELLED).out
    assert "so: template-failed: ports/overlay.yaml.j2:1:" in trail
    assert "  add /metadata/labels/chosen\n" in trail


def test_selectors_of_templates_have_their_say(at):
    chosen = "/chosen=mutating:Fail:chosen"
    assert at("inject", chosen, "-", stdin=LABELLED).err.startswith("1 without a pod, ")
    done = at("inject", chosen, "--namespace-label", "tier=a", "-", stdin=LABELLED)
    assert done.documents[0]["metadata"]["labels"] == {"app": "b", "chosen": "yes it is"}


def test_parameters_of_the_command_line_and_of_annotations(at):
    annotated = CLAIM.replace("{name: data}", "{name: data, annotations: {claim.sidecar.injector/class: own}}")
    assert at("inject", CLAIMS, "-", stdin=annotated).documents[0]["spec"]["storageClassName"] == "own"
    done = at("inject", CLAIMS, "--param", "claim.class=mine", "-", stdin=annotated)
    assert done.documents[0]["spec"]["storageClassName"] == "mine"


@pytest.mark.parametrize("kind", [kind for kind in WORKLOADS if kind != "Pod"])
def test_the_pods_of_a_workload_are_asked_about_with_their_sidecar(at, kind, golden):
    done = at("inject", "/pods=mutating:Fail:label", "-", stdin=WORKLOADS[kind])
    spec = done.documents[0]["spec"]
    pod = (spec["jobTemplate"]["spec"] if kind == "CronJob" else spec)["template"]
    assert pod["metadata"]["labels"] == {"of": f"{kind}-web", **MARKED}
    assert {"generateName", "ownerReferences", "namespace"}.isdisjoint(pod["metadata"])
    assert {"apiVersion", "kind"}.isdisjoint(pod)
    assert "logger" in [c["name"] for c in pod["spec"]["initContainers"]]
    golden(done.err)
    again = at("inject", "/pods=mutating:Fail:label", "-", stdin=done.out)
    assert again.out == done.out


def test_a_pod_of_a_controller_looks_like_one(at, golden):
    paths = "/bare=validating:Fail:bare"
    assert at("inject", paths, "-", stdin=WORKLOADS["Deployment"]).code == 0
    refused = at("inject", paths, "-", stdin=POD)
    golden(refused.err)
    made = at("inject", "/maker=validating:Fail:maker", "-", stdin=WORKLOADS["Deployment"])
    golden(made.err)


def test_a_workload_is_asked_about_itself_before_its_pods(at, golden):
    done = at("inject", "/size=mutating:Fail:sized /pods=mutating:Fail:label", "-", stdin=WORKLOADS["Deployment"])
    assert done.documents[0]["spec"]["replicas"] == 2
    golden([line.split(" with ")[0] for line in done.err.splitlines() if ": added" not in line][:3])


def test_a_path_is_asked_again_after_another_has_changed_the_object(at):
    paths = "/late=mutating:Fail:late /pods=mutating:Fail:label"
    labels = at("inject", paths, "-", stdin=POD).documents[0]["metadata"]["labels"]
    assert labels == {"of": "Pod-alone", "late": "true", **MARKED}


def test_without_paths_nothing_is_different(at, run):
    text = f"{SERVICE}---\n{WORKLOADS['Deployment']}---\n{CLAIM}"
    with_none, without = at("inject", "", "-", stdin=text), run("inject", "--templates", "logger", "-", stdin=text)
    assert (with_none.documents[0], with_none.documents[2]) == (without.documents[0], without.documents[2])
    assert with_none.err.splitlines()[:-1] == without.err.splitlines()[:-1]  # the last names the settings
    assert "paths" not in json.loads(at("explain", "", "--output", "json", "-", stdin=text).out)[0]


def test_objects_within_lists_and_in_json(at):
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": {}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [claim, service]})
    done = at("inject", CLAIMS, "-", stdin=text)
    items = json.loads(done.out)["items"]
    assert items == [{**claim, "spec": {"storageClassName": "fast"}}, service]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Service\nmetadata: nothing\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: [1], labels: 3, namespace: {}}\nspec: 5\n",
        "apiVersion: 3\nkind: Service\n",
        "kind: {a: b}\napiVersion: v1\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: 5\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: 4}\nspec: {containers: [3]}\n",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: 4}\n"
        "spec: {template: {metadata: 4, spec: {containers: []}}}\n",
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: null\nspec: [1]\n",
        "- 1\n",
    ],
)
def test_what_is_no_object_is_no_trouble(at, text):
    paths = f"{CLAIMS} /pods=mutating:Fail:label /s=mutating:Ignore:ports,chosen"
    done = at("inject", paths, "-", stdin=text)
    assert (done.code, done.out) in ((0, text), (1, ""))
    explained = at("explain", paths, "-", stdin=text)
    assert explained.code in (0, 1)


def test_templates_that_there_are_not_are_told(at, golden):
    done = at("inject", "/claims=mutating:Ignore:clam", "-", stdin=CLAIM)
    assert (done.code, done.out) == (0, CLAIM)
    golden(done.err)


def test_a_group_without_a_user_is_wrong_usage(program, golden):
    done = program("inject", "--group", "a", "-", stdin="")
    assert done.code == 2
    golden(done.err)


# ----------------------------------------------------------------------------------------------------------- explain


def test_why_an_object_is_refused(at, golden):
    done = at("explain", f"{CLAIMS} {PORTS}", "--user", "bob", "-", stdin=SERVICE)
    assert done.code == 1
    golden(done.out)


def test_why_a_template_is_not_for_it(at, golden):
    chosen = "/chosen=mutating:Fail:chosen"
    done = at("explain", chosen, "-", stdin=SERVICE)
    assert done.code == 0
    golden(done.out)
    done = at("explain", chosen, "--namespace-label", "tier=a", "-", stdin=SERVICE)
    golden(done.out)


def test_a_pod_s_paths_come_with_its_injection(at, golden):
    done = at("explain", "/pods=mutating:Fail:label /bare=validating:Fail:bare", "-", stdin=WORKLOADS["Deployment"])
    assert done.code == 0
    golden(done.out)


def test_explanations_as_json(at):
    done = at("explain", f"{CLAIMS} {PORTS}", "--user", "bob", "--output", "json", "-", stdin=f"{CLAIM}---\n{SERVICE}")
    claim, service = json.loads(done.out)
    assert (claim["reason"], claim["effect"]) == ("amended", "inject")
    assert claim["paths"][0]["changes"] == [{"op": "add", "path": "/spec/storageClassName"}]
    assert [path["asked"] for path in claim["paths"]] == [True, False]
    assert (service["reason"], service["effect"]) == ("denied", "refuse")
    assert service["paths"][1]["trail"] == [
        {"template": "ports", "step": "for", "saw": "CREATE, UPDATE of services (v1)", "fits": True}
    ]


def test_files_without_anything_to_tell_of(at, golden):
    golden(at("explain", "", "-", stdin=SERVICE).err)
    done = at("explain", CLAIMS, "-", stdin=SERVICE)  # there are paths, so why none is for it is told
    assert done.code == 0
    golden(done.out)
    both = at("explain", CLAIMS, "-", stdin=f"{SERVICE}---\n{CLAIM}")
    assert "service/web" not in both.out and "persistentvolumeclaim/data" in both.out


@pytest.mark.parametrize("labels", [{}, {"app": "b"}])
@pytest.mark.parametrize("tier", [{}, {"tier": "a"}])
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("kind", ["Service", "PersistentVolumeClaim"])
def test_the_trail_says_what_decides(name, kind, labels, tier):
    files = {name: {"template.yaml": TEMPLATES[name][0], "overlay.yaml.j2": TEMPLATES[name][1]}}
    snapshot = build_snapshot(parse_settings({"templates": []}), files, Cluster())
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "labels": labels}}
    asked, namespace = asked_about(obj, snapshot, "shop", {}), Namespace("shop", tier)
    template = snapshot.catalog.get(name)
    assert all(look.fits for look in looks_of(template, asked, namespace)) is is_for(template, asked, namespace)
    assert Admission(asked, namespace, Sources(snapshot, {})).allowed


# ------------------------------------------------------------------------------------------------------------ render


def test_the_overlay_for_a_bare_object_and_for_one_of_a_file(at, tmp_path):
    assert at("render", "", "claim").out == "# overlay of claim\nspec:\n  storageClassName: fast\n"
    assert "storageClassName: mine" in at("render", "", "claim", "--param", "class=mine").out
    file = tmp_path / "all.yaml"
    file.write_text(f"{SERVICE}---\n{CLAIM}")
    diff = at("render", "", "claim", str(file), "--diff").out
    assert [line for line in diff.splitlines() if line[:1] in "+-"][2:] == [
        "-spec: {accessModes: [ReadWriteOnce]}",
        "+spec: {accessModes: [ReadWriteOnce], storageClassName: fast}",
    ]
    found = json.loads(at("render", "", "claim", "--pod", str(file), "--output", "json").out)
    assert (found["reason"], found["operation"]) == ("amended", "CREATE")
    assert found["object"]["spec"]["storageClassName"] == "fast"


def test_operations_users_and_the_object_before(at, tmp_path, golden):
    file = tmp_path / "service.yaml"
    file.write_text(SERVICE)
    denied = at("render", "", "ports", str(file), "--user", "bob")
    assert (denied.code, denied.out) == (1, "")
    golden(denied.err)
    golden(at("render", "", "ports", str(file)).err)
    assert at("render", "", "ports", str(file), "--operation", "UPDATE", "--old", str(file)).code == 0
    wrong = at("render", "", "ports", str(file), "--operation", "DELETE")
    golden(wrong.err)


def test_a_template_of_pods_as_at_a_path(at, tmp_path, golden):
    file = tmp_path / "web.yaml"
    file.write_text(WORKLOADS["Deployment"])
    assert "of: Deployment-web" in at("render", "", "label", str(file), "--operation", "CREATE").out
    golden(at("render", "", "maker", str(file), "--user", "replicaset").err)


def test_what_is_not_for_templates_of_paths(at, program, templates_dir, tmp_path, golden):
    claims = tmp_path / "claims.yaml"
    claims.write_text(f"{CLAIM}---\n{CLAIM}")
    golden(at("render", "", "claim", str(claims)).err)
    usage = program("render", templates_dir / "claim", "--file", "a.conf")
    assert usage.code == 2
    golden(usage.err)
    both = program("render", templates_dir / "claim", claims, "--pod", claims)
    assert both.code == 2 and "Either FILE or --pod FILE" in both.err


@pytest.mark.parametrize(
    ("manifest", "overlay"),
    [
        (
            "for: {apiGroups: [apps], resources: [deployments]}",
            "{% for c in object.spec.containers %}{{ warn(c.name) }}{% endfor %}",
        ),
        (
            "for: {resources: [services]}",
            '{% set service = request.object %}{% if service.spec.type == "NodePort" %}{{ deny("no") }}{% endif %}',
        ),
        ("for: {resources: [services]}", 'deny("no")'),
    ],
)
def test_habits_of_policies_of_other_tools(run, tmp_path, manifest, overlay, golden):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "template.yaml").write_text(f"description: Mine.\n{manifest}\n")
    (folder / "overlay.yaml.j2").write_text(overlay)
    result = run("lint", str(folder))
    assert result.code == 1
    golden(result.out)
