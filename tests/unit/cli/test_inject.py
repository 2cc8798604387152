"""`inject` and `uninject` over whole manifests: what comes out, byte for byte, and what the report says."""

import json
import resource
import textwrap

import click
import pytest
import yaml

from tests import command
from tests.unit.cli import manifests

DEPLOYMENT, POD, SERVICE = manifests.WORKLOADS["Deployment"], manifests.POD, manifests.SERVICE

LOGGER = ("--templates", "logger", "-")


def pod_of(obj):
    if obj["kind"] == "Pod":
        return obj
    holder = obj["spec"]["jobTemplate"] if obj["kind"] == "CronJob" else obj
    return holder["spec"]["template"]


def containers(obj):
    spec = pod_of(obj)["spec"]
    return [c["name"] for c in (spec.get("initContainers") or []) + spec["containers"]]


@pytest.mark.parametrize("kind", manifests.WORKLOADS)
def test_every_kind_is_injected_twice_is_once_and_uninject_gives_it_back(run, kind):
    text = manifests.WORKLOADS[kind]
    once = run("inject", *LOGGER, stdin=text)
    assert once.code == 0, once.err
    obj, *others = once.documents
    assert containers(obj) == ["logger", "web"]
    assert [o["kind"] for o in others] == ([] if kind == "Pod" else ["ConfigMap"])
    if others:
        volume = pod_of(obj)["spec"]["volumes"][0]["configMap"]["name"]
        assert volume == others[0]["metadata"]["name"]
        assert "ownerReferences" not in others[0]["metadata"]
        assert f"{kind}/web" in others[0]["data"]["logger.yaml"]
    assert run("inject", *LOGGER, stdin=once.out).out == once.out
    back = run("uninject", "-", stdin=once.out)
    assert back.documents == [yaml.safe_load(text)]


def test_neighbours_and_comments_stay_byte_for_byte(run, golden):
    text = f"# Source: chart/web.yaml\r\n{DEPLOYMENT}  # kept\n---\n{SERVICE}---\n# empty\n---\n\n{POD}"
    result = run("inject", *LOGGER, stdin=text)
    assert result.code == 0
    golden(result.out)
    assert "  # kept\n" in result.out
    assert f"---\n{SERVICE}---\n# empty\n---\n\n" in result.out
    golden(result.err)
    assert not {"comments", "changed", "anew"} & set(result.err.split())


def test_what_cannot_stay_as_it_is_written_is_told(run, golden):
    head, spec = DEPLOYMENT.split("spec:\n", 1)
    text = f"{head}base: &base\n  spec:\n{textwrap.indent(spec, '  ')}<<: *base  # what changes stands elsewhere\n"
    once = run("inject", *LOGGER, stdin=text)
    assert once.code == 0
    golden(once.err)
    flow = run("inject", *LOGGER, stdin=json.dumps(yaml.safe_load(POD)).replace("{", "{ ", 1).replace('"kind"', "kind"))
    assert flow.code == 0
    golden(flow.err)


def test_what_holds_no_pod_passes_through(run):
    text = f"\ufeff{SERVICE}---\nkind: ConfigMap # x\ndata: {{a: 'b'}}\n---\n- 1\n---\njust text\n"
    result = run("inject", "-", stdin=text)
    assert (result.code, result.out) == (0, text)


def test_a_list_keeps_being_one(run):
    items = [yaml.safe_load(t) for t in (DEPLOYMENT, SERVICE, POD)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2) + "\n"
    result = run("inject", *LOGGER, stdin=text)
    whole = json.loads(result.out)
    assert [i["kind"] for i in whole["items"]] == ["Deployment", "ConfigMap", "Service", "Pod"]
    assert run("inject", *LOGGER, stdin=result.out).out == result.out
    assert json.loads(run("uninject", "-", stdin=result.out).out)["items"] == items


def test_anchors_are_written_out_and_other_documents_keep_theirs(run):
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: &l {app: a}, annotations: *l}\n"
        "spec: {containers: [{name: a, image: a}]}\n---\nkind: X\na: &x [1]\nb: *x\n"
    )
    result = run("inject", *LOGGER, stdin=text)
    assert result.documents[0]["metadata"]["labels"] == {"app": "a", "sidecar.injector/status": "injected"}
    assert "&l" not in result.out
    assert result.out.endswith("---\nkind: X\na: &x [1]\nb: *x\n")


def test_a_config_map_follows_the_namespace_of_its_object(run):
    named = manifests.workload("Deployment", more="  namespace: shop\n")
    for args, text, expected in (
        ((), DEPLOYMENT, None),
        ((), named, "shop"),
        (("--namespace", "other"), DEPLOYMENT, "other"),
        (("--namespace", "other"), named, "shop"),
    ):
        made = run("inject", *args, *LOGGER, stdin=text).documents[1]
        assert made["metadata"].get("namespace") == expected


def test_the_input_s_own_namespace_object_decides(run, golden):
    shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {injection: disabled}}\n---\n"
    result = run("inject", *LOGGER, stdin=shop + DEPLOYMENT)
    assert (result.code, result.out) == (0, shop + DEPLOYMENT)
    golden(result.err)
    again = run("inject", "--namespace-label", "injection=enabled", *LOGGER, stdin=shop + DEPLOYMENT)
    golden(again.err)
    plain = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n---\n"
    golden(run("inject", *LOGGER, stdin=plain + DEPLOYMENT).err)


def test_a_quota_in_the_input_counts(run, golden):
    quota = (
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {limits.cpu: 4}}\n"
        "status: {hard: {limits.cpu: 4}, used: {limits.cpu: 1}}\n---\n"
    )
    result = run("inject", *LOGGER, stdin=quota + POD)
    assert (result.code, result.out) == (1, "")
    golden(result.err)


def test_nothing_is_written_when_one_of_several_fails(run, golden):
    bad = POD.replace("name: alone\n", "name: bad\n  annotations: {logger.sidecar.injector/level: loud}\n")
    result = run("inject", *LOGGER, stdin=f"{DEPLOYMENT}---\n{bad}")
    assert (result.code, result.out) == (1, "")
    golden(result.err)
    assert "document 2, line " in result.err
    golden(result.err)


def test_a_pod_that_says_no_is_skipped_and_named(run, golden):
    no = POD.replace("  name: alone\n", "  name: alone\n  annotations: {sidecar.injector/inject: 'no'}\n")
    result = run("inject", *LOGGER, stdin=no)
    assert (result.code, result.out) == (0, no)
    golden(result.err)


def test_options_reach_the_core(run, tmp_path):
    (tmp_path / "settings.yaml").write_text("nativeSidecars: auto\nprefix: example.com\ntemplates: [logger]\n")
    settings = ("--settings", tmp_path / "settings.yaml")
    result = run(
        "inject", *settings, "--kubernetes-version", "1.30", "--param", "logger.level=debug", "-", stdin=DEPLOYMENT
    )
    pod = pod_of(result.documents[0])
    assert [c["name"] for c in pod["spec"]["containers"]] == ["web", "logger"]
    assert pod["spec"]["containers"][1]["args"] == ["--level", "debug"]
    assert pod["metadata"]["annotations"]["example.com/status"] == "injected"
    assert run("uninject", *settings, "-", stdin=result.out).documents == [yaml.safe_load(DEPLOYMENT)]
    assert "not injected" in run("uninject", "-", stdin=DEPLOYMENT).err


def test_the_report_as_json(run):
    result = run("inject", "--output", "json", *LOGGER, stdin=f"{DEPLOYMENT}---\n{SERVICE}")
    report = json.loads(result.err)
    assert report["written"] is True
    assert report["others"] == 1
    assert [(o["object"], o["outcome"]) for o in report["objects"]] == [
        ("deployment/web", "injected"),
        (report["objects"][1]["object"], "added"),
    ]
    assert report["objects"][0]["templates"] == ["logger"]


def test_files_and_folders_are_joined(run, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.yaml").write_text(SERVICE.rstrip())
    (tmp_path / "m" / "b.json").write_text(json.dumps(yaml.safe_load(POD)))
    result = run("inject", "--templates", "logger", tmp_path / "m")
    assert [d["kind"] for d in result.documents] == ["Service", "Pod"]
    assert result.out.startswith(SERVICE.rstrip() + "\n---\n{")


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--param", "logger.levl=x", "-"),
        ("--param", "nothing", "-"),
        ("--param", "none.level=x", "-"),
        ("--kubernetes-version", "new", "-"),
        ("--namespace-label", "x", "-"),
        ("--templates-dir", "/nowhere", "-"),
    ],
)
def test_wrong_usage_is_told_from_refusal(program, args, golden):
    result = program("inject", *args, stdin=POD)
    assert (result.code, result.out) == (2, "")
    golden(result.err)


def test_unreadable_input_is_one_sentence(program, golden):
    result = program("inject", "-", stdin="a: 1\na: 2\n")
    assert (result.code, result.out) == (1, "")
    golden(result.err)


@pytest.mark.parametrize("kind", ["CronJob", "Deployment", "Pod"])
def test_a_receipt_of_another_generation_does_not_change_a_manifest_that_has_it_all(run, kind, tmp_path):
    """Other templates beside it, as another machine has them, are another generation."""
    once = run("inject", *LOGGER, stdin=manifests.WORKLOADS[kind])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "template.yaml").write_text("description: Another.\n")
    (tmp_path / "other" / "overlay.yaml.j2").write_text("spec: {}\n")
    again = run("inject", "--templates-dir", str(tmp_path), *LOGGER, stdin=once.out)
    assert again.out == once.out
    assert "unchanged" in again.err


def test_files_in_git(run, tmp_path, golden):
    file, other = tmp_path / "web.yaml", tmp_path / "service.yaml"
    file.write_text(f"# kept\n{DEPLOYMENT}")
    file.chmod(0o640)
    other.write_text(SERVICE)
    check = run("inject", *LOGGER[:-1], "--check", "--diff", str(tmp_path))
    assert check.code == 1
    golden(check.err)
    assert str(other) not in check.err
    assert check.out.startswith(f"--- {file}\n+++ {file}\n@@ ")
    assert "\n-" not in check.out
    assert file.read_text() == f"# kept\n{DEPLOYMENT}"
    written = run("inject", *LOGGER[:-1], "--in-place", str(tmp_path))
    assert (written.code, written.out) == (0, "")
    assert file.read_text().startswith("# kept\n")
    assert "logger" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    assert other.read_text() == SERVICE
    again = run("inject", *LOGGER[:-1], "--check", str(tmp_path))
    assert again.code == 0
    injected, generated = file.read_text(), tmp_path / "generated.yaml"
    generated.write_text(GENERATED)
    for words in (["--summary"], ["--check", "--diff"]):
        told = run("uninject", *words, str(tmp_path))
        assert told.code == ("--check" in words) and "uninjected" in told.err
        assert (file.read_text(), generated.read_text()) == (injected, GENERATED)
    assert {line[:2] for line in told.out.splitlines()} >= {"--", "++", "@@", "-k"} and "\n+ " not in told.out
    back = run("uninject", "--in-place", str(tmp_path))
    assert (back.code, back.out, generated.read_text()) == (0, "", "")
    assert file.read_text() == f"# kept\n{DEPLOYMENT}" and file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(click.UsageError):
        run("uninject", "--in-place", "-", stdin=DEPLOYMENT)


@pytest.mark.parametrize("limits", [{"cpu": "1", "memory": "1Gi"}, {"cpu": "1"}, None])
def test_a_pod_that_is_guaranteed_without_its_sidecar_alone(run, limits):
    resources = {"limits": limits} if limits else {}
    spec = {"containers": [{"name": "web", "image": "web:1", "resources": resources}]}
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec})
    for words in (("inject", *LOGGER), ("explain", *LOGGER)):
        done = run(*words, stdin=pod)
        assert ("Guaranteed" in done.err + done.out) is (limits is not None and len(limits) == 2), words


GENERATED = """\
kind: ConfigMap
apiVersion: v1
metadata: {name: of-web, labels: {sidecar.injector/generated: "true"}}
data: {}
"""


@pytest.fixture
def two_files(tmp_path):
    """A folder `deploy` with two manifests that an injection changes, of which the second is large."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/a.yaml").write_text(DEPLOYMENT)
    (tmp_path / "deploy/b.yaml").write_text(f"# {'b' * 20_000}\n{DEPLOYMENT}")
    return tmp_path


def in_place(folder, *words, **limits):
    return command.run("inject", "--templates", "nginx", "--in-place", *words, cwd=folder, **limits)


def test_in_place_follows_no_link_out_of_its_folder(two_files):
    outside, linked = two_files / "outside.yaml", two_files / "deploy/b.yaml"
    linked.unlink()
    outside.write_text(DEPLOYMENT)
    linked.symlink_to(outside)
    done = in_place(two_files, "deploy")
    assert (done.code, done.out) == (1, "") and "deploy/b.yaml" in done.err and str(outside) in done.err
    assert "1 injected" not in done.err
    assert outside.read_text() == (two_files / "deploy/a.yaml").read_text() == DEPLOYMENT
    assert in_place(two_files, "deploy/b.yaml").code == 0  # it is named
    assert linked.is_symlink() and outside.read_text() != DEPLOYMENT


def test_in_place_follows_links_within_its_folder(two_files):
    (two_files / "deploy/b.yaml").unlink()
    (two_files / "deploy/b.yaml").symlink_to("a.yaml")
    (two_files / "link").symlink_to("deploy")
    assert in_place(two_files, "link").code == 0
    assert (two_files / "deploy/a.yaml").read_text() != DEPLOYMENT
    assert in_place(two_files, "--check", "deploy").code == 2


def test_where_one_file_cannot_be_written_none_is_and_nothing_is_left(two_files):
    """A limit of the process stands for a disk that is full."""
    before = {file: file.read_text() for file in sorted((two_files / "deploy").iterdir())}
    done = in_place(two_files, "deploy", limits={resource.RLIMIT_FSIZE: 10_000})
    assert done.code == 1 and "b.yaml" in done.err and "injected" not in done.err
    assert {file: file.read_text() for file in sorted((two_files / "deploy").iterdir())} == before
    assert "2 injected" in in_place(two_files, "deploy").err


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
@pytest.mark.parametrize("key", ["name", "namespace", "kind"])
def test_a_name_that_cannot_be_one_is_not_shown_whole(run, kind, key):
    obj = yaml.safe_load(manifests.WORKLOADS[kind])
    (obj if key == "kind" else obj["metadata"])[key] = "n" * 100_000
    for words in (
        ("inject", *LOGGER),
        ("explain", *LOGGER),
        ("uninject", "-"),
        ("inject", "--output", "json", *LOGGER),
    ):
        done = run(*words, stdin=json.dumps(obj))
        assert len(done.err) < 5000 and (words[0] != "explain" or len(done.out) < 10_000)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--in-place", "--check"), "--in-place writes files, but"),
        (("--in-place", "--diff"), "--in-place writes files, but"),
        (("--in-place",), "--in-place writes files, and standard input is not a file."),
    ],
)
def test_in_place_goes_alone_and_with_files(run, words, message):
    with pytest.raises(click.UsageError, match=message):
        run("inject", *LOGGER, *words, stdin=POD)


DEBUG = ("--param", "logger.level=debug")


def level(done):
    spec = pod_of(done.documents[0])["spec"]
    [logger] = [one for one in (*spec.get("initContainers", []), *spec["containers"]) if one["name"] == "logger"]
    return logger["args"][1]


@pytest.mark.parametrize("words", [(), LOGGER[:2], DEBUG, (*LOGGER[:2], *DEBUG)], ids=" ".join)
def test_what_the_first_command_said_counts_for_the_second(run, words, golden):
    once = run("inject", *LOGGER[:2], *DEBUG, "-", stdin=POD)
    assert level(once) == "debug"
    again = run("inject", *words, "-", stdin=once.out)
    assert (again.code, again.out) == (0, once.out)
    golden(again.err)


@pytest.mark.parametrize(
    "words",
    [
        ("--param", "logger.level=info"),
        ("--templates", "nginx"),
        ("--templates", "nginx,logger", *DEBUG),
    ],
    ids=str,
)
def test_options_that_differ_from_the_first_are_told(run, words, golden):
    once = run("inject", *LOGGER[:2], *DEBUG, "-", stdin=DEPLOYMENT)
    again = run("inject", *words, "-", stdin=once.out)
    assert (again.code, again.out) == (0, once.out)
    golden(again.err)
    anew = run("inject", "--reinject", *words, "-", stdin=once.out)
    assert anew.code == 0
    golden(anew.err)
    assert anew.documents[0] == run("inject", *words, "-", stdin=DEPLOYMENT).documents[0]


def test_a_parameter_that_the_first_did_not_give(run, golden):
    once = run("inject", *LOGGER[:2], "-", stdin=POD)
    again = run("inject", *DEBUG, "-", stdin=once.out)
    assert again.out == once.out
    golden(again.err)
    assert level(run("inject", "--reinject", *LOGGER[:2], *DEBUG, "-", stdin=once.out)) == "debug"


def test_a_template_that_is_not_here(run, program, golden):
    once = run("inject", *LOGGER[:2], "-", stdin=POD)
    again = program("inject", "-", stdin=once.out)
    assert (again.code, again.out) == (0, once.out)
    golden(again.err)


def test_a_secret_parameter_is_not_in_the_receipt(run, templates_dir, golden):
    (templates_dir / "logger" / "template.yaml").write_text(
        "description: x\nparameters:\n  token: {type: string, pattern: '[a-z]+', secret: true, default: none}\n"
        "  level: {type: string, default: info}\n"
    )
    overlay = "spec: {containers: [{name: logger, image: 'logger:1', args: ['{{ params.token }}']}]}\n"
    (templates_dir / "logger" / "overlay.yaml.j2").write_text(overlay)
    words = (*LOGGER[:2], "--param", "logger.token=hidden")
    once = run("inject", *words, "-", stdin=POD)
    assert once.out.count("hidden") == 1, "in the container alone"
    assert run("inject", *words, "-", stdin=once.out).out == once.out
    again = run("inject", "-", stdin=once.out)
    assert (again.code, again.out) == (0, once.out)
    golden(again.err)
    wrong = run("inject", *LOGGER[:2], "--param", "logger.token=UPPER", "-", stdin=POD)
    assert wrong.code == 1 and "UPPER" not in wrong.err
    golden(wrong.err)
    told = run("explain", "--templates", "logger", "--param", "logger.token=hidden", "-", stdin=POD)
    assert "(secret)" in told.out and "hidden" not in told.out.split("adds")[0]


def reported(run, text):
    done = run("inject", "--templates", "logger", "--output", "json", "-", stdin=text)
    [line, *_] = json.loads(done.err)["objects"]
    return done, (line["outcome"], line["reason"] if line["outcome"] != "injected" else "")


CONTAINER = "{name: web, image: 'a:1'}"
WORKFLOW = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n"
WHOLE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"


@pytest.mark.parametrize(("text", "verdict"), [
    (f"{WHOLE}  template: {{spec: {{containers: [{{$patch: delete, name: web}}]}}}}\n", ("skipped", "kustomize-patch")),
    (f"{WHOLE}  $retainKeys: [strategy]\n  strategy: {{type: Recreate}}\n", ("skipped", "kustomize-patch")),
    (f"{WHOLE}  template: {{spec: {{containers: [{{name: web, env: [{{name: A, value: b}}]}}]}}}}\n",
     ("skipped", "kustomize-patch")),
    (f"{WHOLE}  selector: {{}}\n  template: {{spec: {{containers: [{CONTAINER}]}}}}\n", ("injected", "")),
    (f"{WORKFLOW}  templates: [{{name: a, container: {CONTAINER}}}]\n", ("skipped", "unknown-pod-template")),
])  # fmt: skip
def test_what_is_no_whole_workload_passes_through_with_its_reason(run, text, verdict):
    done, said = reported(run, text)
    assert (done.code, said) == (0, verdict)
    if verdict[0] == "skipped":
        assert done.out == text
