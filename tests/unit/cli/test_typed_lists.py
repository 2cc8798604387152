"""Lists with a kind, such as a PodList: their items have neither kind nor apiVersion, and are what the list says."""

import json

import pytest
import yaml

from injector.authoring.cases.case import given, read_objects
from injector.authoring.pod_preview import pod_in_view
from tests.unit.cli import manifests

LOGGER = ("--templates", "logger")
POD_LIST = """\
apiVersion: v1
kind: PodList
metadata: {resourceVersion: "7"}
items:
- metadata: {name: a}   # the first
  spec: {containers: [{name: app, image: "a:1", ports: [{containerPort: 8080}]}]}
- metadata:
    name: b
  spec:
    containers:
    - {name: app, image: "b:1"}
"""


def typed_list(text):
    """A List of a kind of its own with the object of a manifest, as client libraries write it."""
    item = yaml.safe_load(text)
    kind, version = item.pop("kind"), item.pop("apiVersion")
    return {"kind": f"{kind}List", "apiVersion": version, "items": [item]}


@pytest.mark.parametrize("kind", manifests.WORKLOADS)
@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_an_item_gets_what_it_gets_alone_and_nothing_of_its_list(run, kind, write):
    text = manifests.WORKLOADS[kind]
    listed = write(typed_list(text))
    alone, among = (run("inject", *LOGGER, "-", stdin=stdin) for stdin in (text, listed))
    assert (alone.code, among.code) == (0, 0)
    wanted, *config_maps = alone.documents
    assert among.documents == [{**typed_list(yaml.safe_dump(wanted)), "items": among.documents[0]["items"]}]
    assert among.documents[0]["items"] == [*typed_list(yaml.safe_dump(wanted))["items"], *config_maps]
    assert run("inject", *LOGGER, "-", stdin=among.out).out == among.out
    assert run("uninject", "-", stdin=among.out).documents == [yaml.safe_load(listed)]


def test_each_item_is_reported_by_its_kind_and_its_own_line(run):
    broken = POD_LIST.replace('{name: app, image: "b:1"}', "{name: app, env: 7}")
    result = run("inject", *LOGGER, "--output", "json", "-", stdin=broken)
    report = json.loads(result.err)
    assert [(line["object"], line["outcome"]) for line in report["objects"]] == [
        ("pod/a", "injected"),
        ("pod/b", "failed"),
    ]
    assert (result.code, result.out) == (1, "")
    assert report["objects"][1]["line"] == 11


def test_the_text_of_the_items_stays(run):
    injected = run("inject", *LOGGER, "-", stdin=POD_LIST)
    assert injected.out.count("logger:1") == 2
    assert "   # the first\n" in injected.out
    assert run("uninject", "-", stdin=injected.out).out == POD_LIST


def test_what_is_required_is_refused(run):
    required = ("--namespace-label", "injection=required", "--param", "logger.level=none")
    result = run("inject", *LOGGER, *required, "-", stdin=POD_LIST)
    assert (result.code, result.out) == (1, "")


def test_all_commands_take_them(run, tmp_path):
    """Each command that reads manifests, with what tells that it knew the items."""
    file = tmp_path / "list.yaml"
    file.write_text(POD_LIST)
    explained = run("explain", "--output", "json", *LOGGER, file)
    assert [entry["object"] for entry in json.loads(explained.out)] == ["pod/a", "pod/b"]
    settings = tmp_path / "settings.yaml"
    settings.write_text("paths:\n  /validate/x: {type: validating, templates: [no-pods], failurePolicy: Fail}\n")
    policy = tmp_path / "templates" / "no-pods"
    policy.mkdir()
    rule = "for: {apiGroups: [''], resources: [pods], operations: [CREATE]}\n"
    (policy / "template.yaml").write_text(f"description: Refuses pods.\n{rule}")
    (policy / "overlay.yaml.j2").write_text("{{ deny('no') }}\n")
    checked = run("check-manifests", "--settings", settings, "--output", "json", file)
    assert checked.code == 1
    case = read_objects(tmp_path, "list.yaml")
    assert [obj["kind"] for obj in case] == ["Pod", "Pod"]
    one = POD_LIST.partition("- metadata:\n")[0]
    assert pod_in_view(tmp_path / "templates" / "logger", one).obj["kind"] == "Pod"
    assert given(read_objects(tmp_path, "list.yaml")[:1]).obj["metadata"] == {"name": "a"}


def test_an_item_that_says_one_of_both_is_taken_at_its_word(run):
    """https://github.com/kubernetes/apimachinery/blob/master/pkg/apis/meta/v1/unstructured/helpers.go: as kubectl."""
    first = POD_LIST.partition("items:\n")[2].partition("- metadata:\n")[0]
    items = [first, first.replace("- ", "- kind: Pod\n  "), first.replace("- ", "- apiVersion: v1\n  ")]
    text = POD_LIST.partition("- metadata")[0] + "".join(items)
    result = run("inject", *LOGGER, "--output", "json", "-", stdin=text)
    injected = [line["place"] for line in json.loads(result.err)["objects"] if line["outcome"] == "injected"]
    assert len(injected) == 2
