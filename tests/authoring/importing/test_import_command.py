"""`injector import`: what it makes, what it tells, and what it never does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
import yaml

from injector.authoring.diagnostic_formats import diagnostics_text
from injector.authoring.importing.imports import import_configs
from injector.authoring.importing.source import CONFIG_FIELDS, METADATA
from injector.settings import parse_settings
from tests.authoring.commands import ROOT, injector
from tests.messages import Golden

PLAIN = """\
containers:
- name: sidecar-nginx
  image: nginx:1.12.2
  imagePullPolicy: IfNotPresent
  ports:
  - containerPort: 80
  volumeMounts:
  - name: nginx-conf
    mountPath: /etc/nginx
volumes:
- name: nginx-conf
  configMap:
    name: nginx-configmap
"""
NAMED = """\
name: Test_1:1.2
env:
- {name: DATACENTER, value: dc01}
volumeMounts:
- {name: some-config, mountPath: /etc/some-config}
volumes:
- {name: some-config, configMap: {name: some-configmap}}
containers:
- name: agent
  image: agent:1
  env: [{name: DATACENTER, value: own}]
- {name: other, image: "other:1", volumeMounts: [{name: some-config, mountPath: /else}]}
initContainers:
- {name: first, image: "first:1"}
hostAliases:
- {ip: 1.2.3.4, hostnames: [a.example, b.example]}
serviceAccountName: builder
hostNetwork: true
hostPID: true
"""


def indented(text: str, by: int) -> str:
    return "".join(f"{' ' * by}{line}" for line in text.splitlines(keepends=True))


def config_map(name: str, **data: str) -> str:
    keys = "".join(f"  {key.replace('_', '.')}: |\n{indented(text, 4)}" for key, text in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n{keys}"


def imported(folder: Path, text: str, *args: object) -> str:
    """What is told of a config that is imported into a folder; its cases pass."""
    done = injector("import", "-", "--output", folder, *args, stdin=text)
    assert done.code == 0, done.err
    for made in folder.iterdir():
        tested = injector("test", made)
        assert tested.code == 0, tested.out + tested.err
    return done.out + done.err


def pod_of(folder: Path, name: str, manifest: str, *args: object) -> dict[str, object]:
    """A Deployment's pod with an imported template."""
    settings = folder / "settings.yaml"
    settings.write_text("nativeSidecars: never\n")
    where = ("--templates-dir", folder, "--templates", name, "--settings", settings)
    done = injector("inject", *where, *args, "-", stdin=manifest)
    assert done.code == 0, done.err
    return yaml.safe_load(done.out)["spec"]["template"]["spec"]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers: [{name: migrate, image: "web:1"}]
      containers: [{name: nginx, image: "nginx:1.25"}]
"""


def test_a_file_becomes_a_template_that_lints_without_an_error(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "sidecarconfig.yaml").write_text(PLAIN)
    done = injector("import", "sidecarconfig.yaml", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    golden(done.out)
    assert injector("test", tmp_path / "sidecarconfig").code == 0
    linted = json.loads(injector("lint", tmp_path / "sidecarconfig", "--output", "json").out)
    assert [problem for problem in linted["problems"] if problem["severity"] == "error"] == []
    spec = pod_of(tmp_path, "sidecarconfig", DEPLOYMENT)
    app, sidecar = spec["containers"]
    assert app == {"name": "nginx", "image": "nginx:1.25"}
    assert sidecar == yaml.safe_load(PLAIN)["containers"][0]
    assert spec["volumes"] == yaml.safe_load(PLAIN)["volumes"]


def test_the_second_form_reaches_every_container(tmp_path: Path, golden: Golden) -> None:
    told = imported(tmp_path, NAMED)
    assert "Made" in told
    golden(told)
    spec = pod_of(tmp_path, "test-1-1-2", DEPLOYMENT)
    every = {"env": [{"name": "DATACENTER", "value": "dc01"}]}
    mount = {"name": "some-config", "mountPath": "/etc/some-config"}
    assert spec["containers"] == [
        {"name": "nginx", "image": "nginx:1.25", **every, "volumeMounts": [mount]},
        {"name": "agent", "image": "agent:1", "env": [{"name": "DATACENTER", "value": "own"}], "volumeMounts": [mount]},
        {
            "name": "other",
            "image": "other:1",
            "volumeMounts": [{"name": "some-config", "mountPath": "/else"}],
            **every,
        },
    ]
    assert spec["initContainers"] == [
        {"name": "migrate", "image": "web:1", **every, "volumeMounts": [mount]},
        {"name": "first", "image": "first:1", **every, "volumeMounts": [mount]},
    ]
    assert spec["hostAliases"] == [{"ip": "1.2.3.4", "hostnames": ["a.example", "b.example"]}]
    assert (spec["serviceAccountName"], spec["hostNetwork"], spec["hostPID"]) == ("builder", True, True)


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_sidecar_may_have_the_port_of_the_usual_app(tmp_path: Path, kind: str) -> None:
    ports = [{"containerPort": 8080}, {"containerPort": 8081}, {"containerPort": 8082, "protocol": "UDP"}]
    imported(tmp_path, json.dumps({kind: [{"name": "a", "image": "a:1", "ports": ports}]}), "--name", "it")
    assert pod_of(tmp_path, "it", DEPLOYMENT)[kind][-1] == {"name": "a", "image": "a:1", "ports": ports}


@pytest.mark.parametrize(("given", "kept"), [("default", "builder"), ('""', "builder"), ("its-own", "its-own")])
def test_a_service_account_is_set_where_the_pod_has_none_of_its_own(tmp_path: Path, given: str, kept: str) -> None:
    imported(tmp_path, NAMED)
    manifest = DEPLOYMENT.replace("      initC", f"      serviceAccountName: {given}\n      initC")
    assert pod_of(tmp_path, "test-1-1-2", manifest)["serviceAccountName"] == kept


@pytest.mark.parametrize("form", ["stream", "list", "json"])
def test_config_maps_in_a_stream_or_a_list(tmp_path: Path, form: str) -> None:
    maps = [
        config_map("injector", sidecarconfig_yaml=PLAIN, anything=NAMED),
        config_map("nginx-configmap", nginx_conf="worker_processes 1;\n# {{ x }} {% y %}\n"),
    ]
    text = "---\n".join(maps)
    if form != "stream":
        objects = {"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(m) for m in maps]}
        text = json.dumps(objects, indent="\t") if form == "json" else yaml.safe_dump(objects)
    told = imported(tmp_path, text)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["sidecarconfig", "test-1-1-2"]
    assert "nginx.conf.j2" in told
    overlay = (tmp_path / "sidecarconfig" / "overlay.yaml.j2").read_text()
    assert 'name: "{{ files.configmap }}"' in overlay


def test_a_key_may_hold_a_list_of_configs(tmp_path: Path, golden: Golden) -> None:
    configs = "- name: one\n  env: [{name: A, value: a}]\n- name: two:v2\n  containers: [{name: b, image: b}]\n  x: 1\n"
    told = imported(tmp_path, config_map("sidecars", sidecars_yaml=configs, numbers="[1, 2]\n", nothing="[]\n"))
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["one", "two-v2"]
    golden(told)


def test_the_settings_that_it_prints_are_settings(tmp_path: Path) -> None:
    for number, (text, name, settings) in enumerate(
        [
            (PLAIN, "it", {"podDefault": "skip", "templates": ["it"]}),
            (PLAIN, "2", {"podDefault": "skip", "templates": ["2"]}),  # YAML would read a number
            (NAMED, "it", {"podDefault": "named", "templates": []}),
        ]
    ):
        done = injector("import", "-", "--name", name, "--output", tmp_path / str(number), stdin=text)
        block = done.out.split("\n\n")[2]
        read = yaml.safe_load(block)
        parse_settings(read)
        assert {**read, **settings} == read


@pytest.mark.parametrize(
    ("text", "chosen"),
    [(PLAIN, None), (NAMED, None), ("initContainers: [{name: first, image: 'a:1'}]\n", "never")],
    ids=["sidecars", "sidecars by name", "set-up alone"],
)
def test_plain_sidecars_which_keep_jobs_from_completing_are_not_recommended(
    tmp_path: Path, text: str, chosen: str | None
) -> None:
    done = injector("import", "-", "--name", "it", "--output", tmp_path, stdin=text)
    assert yaml.safe_load(done.out.split("\n\n")[2]).get("nativeSidecars") == chosen


REFUSED = [
    "",
    "---\n# only a comment\n",
    "just words",
    "containers: 5",
    "containers: {}",
    "containers: [x]",
    "containers: [{image: x}]",
    "containers:\n- name: a\n  image: 5\n",
    "containers:\n- name: a\n  image: a:1\n  env:\n  - name: X\n    value: 8080\n",
    "env: [{name: X, value: true}]",
    "containers: [{name: n, image: a}]",
    "containers: [{name: a, image: '{{ .Spec.Image }}'}]",
    "containers: [{name: a, image: '[[ .Image ]]'}]",
    "name: it\ninitContainers: [{name: a, command: [b]}]",
    "name: it\ncontainers: [{name: a, image: a, resources: {requests: {memory: 1Gi}, limits: {memory: 64Mi}}}]",
    "name: it\ncontainers: [{name: a, image: a, resources: {requests: {cpu: 1}, limits: {cpu: 9mb}}}]",
    "containers:\n- null\n",
    "containers: &a\n- *a\n",
    "containers: !mine []",
    "volumes: []\nvolumes: []\n",
    "containers:\n- name: a\n  image: {{ .Values.image }}\n",
    "containers:\n{{- range .Values.x }}\n- name: a\n{{- end }}\n",
    "containers:\n- {name: a, image: a}\n- {name: a, image: b}\n",
    "name: it\ncontainers:\n- {name: a, image: a}\ninitContainers:\n- {name: a, image: b}\n",
    'containers: [{name: "*", image: a}]',
    "name: it\ncontainers: [{name: '../x', image: a}]",
    'containers: [{name: a, image: "\\ufdd00\\ufdd1"}]',
    "containers:\n- name: a\n  image: a\n  ports: [{containerPort: 80}, {containerPort: 80}]\n",
    "serviceAccountName: [a]",
    "hostNetwork: 'true'",
    "labels: {a: 1}",
    "name: '???'\nhostPID: true",
    "name: x\n",
    "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: web}\n",
    "kind: ConfigMap\nmetadata: {name: x}\ndata: {a: 5}\n",
    "[" * 400 + "]" * 400,
    "name: it\nvolumes: [{name: v, emptyDir: {}}]\nvolumeMounts: [{name: v, mountPath: /x}]\n"
    "containers:\n- {name: a, image: a, volumeMounts: [{name: w, mountPath: /x}]}\n",
]


@pytest.mark.parametrize("text", REFUSED, ids=[repr(text)[-60:] for text in REFUSED])
def test_what_cannot_be_carried_over_is_told_at_its_place(text: str, golden: Golden) -> None:
    result = import_configs([("standard input", text.encode())])
    assert not result.templates
    golden(click.unstyle(diagnostics_text(result.problems)))


def test_with_an_error_nothing_is_written(tmp_path: Path, golden: Golden) -> None:
    done = injector("import", "-", "--output", tmp_path / "made", stdin=f"{NAMED}---\ncontainers: 5\n")
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "line",
    [
        "vloumes: []",
        "environment: []",
        "image: a",
        "hostIPC: true",
        "dnsPolicy: None",
        "prependContainers: true",
        "inherits: base.yaml",
        "env: [{name: A, value: a}, {name: A, value: b}]",
    ],
)  # fmt: skip
def test_what_is_left_out_or_other_is_a_warning(tmp_path: Path, line: str, golden: Golden) -> None:
    config = "containers:\n- name: a\n  image: a:1\n  imagePulPolicy: Always\n  volumeMounts:\n"
    config += "  - {name: v, mountPath: /v}\n"
    said = imported(tmp_path, f"{config}# five\n# more\n# lines\n# here\n{line}\n", "--name", "it")
    golden(said)
    overlay = (tmp_path / "it" / "overlay.yaml.j2").read_text()
    assert not {"vloumes", "environment", "prependContainers", "imagePulPolicy"} & set(
        overlay.replace(":", " ").split()
    )


def test_what_is_at_no_place_is_told_without_one(tmp_path: Path, golden: Golden) -> None:
    done = injector("import", "-", cwd=tmp_path, stdin=config_map("injector", README="words\n"))
    assert done.code == 1
    golden(done.err)


def test_places_in_a_config_map_are_those_of_the_file(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "maps.yaml").write_text("# first\n" + config_map("injector", one=PLAIN.replace("IfNotPresent", "5")))
    done = injector("import", "maps.yaml", cwd=tmp_path)
    assert done.code == 1
    golden(done.err)
    assert "   10 |       imagePullPolicy: 5\n      |                        ^" in done.err


def test_a_key_that_is_no_yaml_is_told_when_it_looks_like_a_config(tmp_path: Path, golden: Golden) -> None:
    text = config_map("injector", one="containers:\n- {name: a, image: {{ .x }}\n", two=PLAIN, notes="a: b: c\n")
    done = injector("import", "-", "--output", tmp_path / "made", stdin=text)
    assert (done.code, (tmp_path / "made").exists()) == (1, False)
    assert "standard input:7:" in done.err
    golden(done.err)


def test_names_are_told_apart(tmp_path: Path) -> None:
    maps = [config_map(name, sidecarconfig_yaml=PLAIN) for name in ("web", "batch")]
    imported(tmp_path, "---\n".join([*maps, config_map("third", other=PLAIN)]))
    assert sorted(f.name for f in tmp_path.iterdir()) == ["batch-sidecarconfig", "other", "web-sidecarconfig"]


def test_another_name_than_pods_ask_for_is_told(tmp_path: Path, golden: Golden) -> None:
    told = imported(tmp_path, NAMED, "--name", "mine")
    golden(told)
    golden(imported(tmp_path, NAMED, "--name", "test-1-1-2"))


def test_problems_are_told_line_by_line() -> None:
    text = "a: 1\ncontainers:\n- {name: a, image: a, b: 1, env: [{name: A}, {name: A}]}\nc: 1\n"
    text += "volumes: [{name: v, d: 1}]\n"
    lines = [problem.place.line for problem in import_configs([("standard input", text.encode())], "it").problems]
    assert lines == [1, 3, 3, 4, 5]


def test_two_configs_of_one_name_are_refused(tmp_path: Path, golden: Golden) -> None:
    done = injector(
        "import", "-", "--output", tmp_path / "made", stdin="name: a_b\nhostPID: true\n---\nname: a-b\nhostPID: true\n"
    )
    assert done.code == 1
    golden(done.err)
    both = injector("import", "-", "--name", "x", stdin="hostPID: true\n---\nhostPID: true\n")
    assert both.code == 1
    golden(both.err)


def test_nothing_is_written_over_unless_it_is_told_so(tmp_path: Path) -> None:
    made = tmp_path / "it"
    made.mkdir()
    (made / "mine.txt").write_text("mine")
    for more in ((), ("--overwrite",)):
        done = injector("import", "-", "--name", "it", "--output", tmp_path, *more, stdin=PLAIN)
        assert done.code == 1
        assert f"{made} already exists" in done.err
        assert [file.name for file in made.iterdir()] == ["mine.txt"]
    (made / "mine.txt").unlink()
    imported(tmp_path, PLAIN, "--name", "it")
    outside = tmp_path / "outside.txt"
    outside.write_text("untouched")
    (made / "README.md").unlink()
    (made / "README.md").symlink_to(outside)
    (made / "mine.txt").write_text("mine")
    assert injector("import", "-", "--name", "it", "--output", tmp_path, stdin=PLAIN).code == 1
    imported_again = injector("import", "-", "--name", "it", "--output", tmp_path, "--overwrite", stdin=PLAIN)
    assert imported_again.code == 0
    assert (outside.read_text(), (made / "mine.txt").read_text()) == ("untouched", "mine")


def test_a_folder_within_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    imported(tmp_path, PLAIN, "--name", "it")
    (tests,) = [file for file in (tmp_path / "it").iterdir() if file.is_dir()]
    elsewhere = tests.rename(tmp_path / "elsewhere")
    tests.symlink_to(elsewhere)
    before = {file: file.read_text() for file in (*elsewhere.iterdir(), tmp_path / "it/README.md")}
    for file in before:
        file.write_text(before[file] + "# mine\n")
    done = injector("import", "-", "--name", "it", "--output", tmp_path, "--overwrite", stdin=PLAIN)
    assert done.code == 1 and str(tests) in done.err
    assert all(file.read_text() == before[file] + "# mine\n" for file in before)


def test_one_that_is_taken_keeps_the_others_out_too(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_text("x")
    text = "name: a\nhostPID: true\n---\nname: b\nhostPID: true\n"
    assert injector("import", "-", "--output", tmp_path, stdin=text).code == 1
    assert [f.name for f in tmp_path.iterdir()] == ["b"]


def test_a_config_that_inherits(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(NAMED)
    (tmp_path / "child.yaml").write_text(
        "name: child\ninherits: base.yaml\nenv: [{name: DATACENTER, value: dc09}, {name: MORE, value: x}]\n"
        "containers: [{name: agent, image: 'agent:2'}]\nhostAliases: [{ip: 1.2.3.4, hostnames: [c.example]}]\n"
    )
    done = injector("import", "child.yaml", cwd=tmp_path)
    assert done.code == 0, done.err
    assert injector("test", tmp_path / "child").code == 0
    spec = pod_of(tmp_path, "child", DEPLOYMENT)
    env = [{"name": "DATACENTER", "value": "dc09"}, {"name": "MORE", "value": "x"}]
    names = [(c["name"], c["image"], c["env"]) for c in spec["containers"]]
    assert names == [("nginx", "nginx:1.25", env), ("agent", "agent:2", env), ("other", "other:1", env)]
    assert spec["hostAliases"] == [{"ip": "1.2.3.4", "hostnames": ["a.example", "b.example", "c.example"]}]
    assert spec["serviceAccountName"] == "builder"


def test_of_labels_and_annotations_those_of_the_config_itself_count(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("name: base\nhostPID: true\nlabels: {a: base, b: base}\n")
    child = "name: child\ninherits: base.yaml\nlabels: {a: own, c: own}\nannotations: {d: own}\n"
    (tmp_path / "child.yaml").write_text(child)
    assert injector("import", "child.yaml", cwd=tmp_path).code == 0
    overlay = yaml.safe_load((tmp_path / "child" / "overlay.yaml.j2").read_text())
    assert overlay["metadata"] == {"labels": {"a": "own", "b": "base", "c": "own"}, "annotations": {"d": "own"}}


@pytest.mark.parametrize(
    "inherits",
    [
        "child.yaml",
        "gone.yaml",
        '"a\\0b"',
        ".",
        "two.yaml",
    ],
)
def test_what_cannot_be_inherited(tmp_path: Path, inherits: str, golden: Golden) -> None:
    (tmp_path / "two.yaml").write_text("hostPID: true\n---\nhostPID: true\n")
    (tmp_path / "child.yaml").write_text(f"name: child\ninherits: {inherits}\n")
    done = injector("import", "child.yaml", cwd=tmp_path)
    assert done.code == 1
    golden(done.err)


def test_hostile_names_stay_in_their_folder(tmp_path: Path) -> None:
    parent = tmp_path / "out"
    for name in ("../../up", "/etc/passwd", "a/b", "con\\u0000x", "{{ x }}", "\\u202eabc", "x" * 300):
        done = injector("import", "-", "--output", parent, "--overwrite", stdin=f'name: "{name}"\nhostPID: true\n')
        assert done.code == 0, done.err
    assert sorted(f.name for f in parent.iterdir()) == ["a-b", "abc", "con-x", "etc-passwd", "up", "x", "x" * 63]
    assert [f.name for f in tmp_path.iterdir()] == ["out"]


def test_large_input(tmp_path: Path, golden: Golden) -> None:
    many = "containers:\n" + "".join(f"- {{name: c{n}, image: 'a:1', args: [{'x' * 200}]}}\n" for n in range(300))
    imported(tmp_path, many, "--name", "many")
    done = injector("import", "-", stdin="containers:\n" + "- {name: a, image: a}\n" * 250_000)
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(b)}: &{chr(b)} [{','.join(['*' + chr(b - 1)] * 10)}]\n" for b in range(ord("b"), ord("k"))
    )
    done = injector("import", "-", stdin=bomb)
    assert done.code == 1
    golden(done.err)


@pytest.mark.parametrize("args", [(), ("-", "--name", "No Name"), ("-", "-")])
def test_wrong_usage(args: tuple[str, ...]) -> None:
    assert injector("import", *args, stdin=PLAIN).code in (1, 2)
    assert injector("import", *args, stdin=PLAIN).out == ""


def test_input_that_is_not_there(tmp_path: Path, golden: Golden) -> None:
    done = injector("import", tmp_path / "gone.yaml")
    assert (done.code, done.out) == (1, "")
    golden(done.err)
    (tmp_path / "latin.yaml").write_bytes("name: caf\xe9\n".encode("latin-1"))
    done = injector("import", "latin.yaml", cwd=tmp_path)
    golden(done.err)


def test_the_page_says_what_becomes_of_every_field() -> None:
    page = (ROOT / "docs" / "templates.md").read_text()
    rows = page.partition("| field of a config | what it becomes |\n")[2].partition("\n\n")[0].split("\n")[1:]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named == {*CONFIG_FIELDS, *METADATA, "spec"}
