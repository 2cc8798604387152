"""Keys of other test programs, and what a case of ours has in their place."""

from __future__ import annotations

from typing import Any, Final

from injector.authoring.cases.document import Absent
from injector.names import flow_value

#: Characters of somebody's own value that is written under another key.
_LONGEST: Final = 80
_EXPECT = "write the expected result in `expect:`, such as expect: {decision: injected}"
_INPUT = "write the input in `pod:`, or in a file beside this one, and name that file in `file:`"
_METADATA = "write it in the metadata of `pod:`"
#: Keys of a case whose value stands under another key here.
_RENAMED: Final = {
    **dict.fromkeys(("set", "values", "vars", "variables", "inputs", "parameters", "parameter", "args"), "params"),
    **dict.fromkeys(("it", "title", "describe", "description", "test", "case"), "name"),
    **dict.fromkeys(("kubernetesVersion", "kubeVersion", "kubernetes_version", "version"), "kubernetes"),
    **dict.fromkeys(("template", "sidecars", "sidecar"), "templates"),
    **dict.fromkeys(("config", "setting"), "settings"),
    "ns": "namespace",
}
#: The same of keys of a case that have no such value.
_CASE: Final = {
    **dict.fromkeys(("asserts", "assert", "assertions", "should", "expected", "expects", "then", "output"), _EXPECT),
    **dict.fromkeys(("given", "input", "manifest", "deployment", "workload", "when", "kubernetesProvider"), _INPUT),
    **dict.fromkeys(("annotations", "labels", "metadata", "spec"), _METADATA),
    **dict.fromkeys(("documentIndex", "documentSelector"), "leave it out: a case has one pod"),
    "release": "remove it; the namespace is set by `namespace: {name: ...}`",
    **dict.fromkeys(("chart", "skip", "only", "tags", "timeout", "postRenderer"), "leave it out"),
    "capabilities": 'write kubernetes: "1.33"',
    **dict.fromkeys(("decision", "reason", "message", "files", "golden", "warnings", "code"), "write it in `expect:`"),
    **dict.fromkeys(("error", "failedTemplate", "failureMessage"), "write expect: {decision: failed, message: ...}"),
    **dict.fromkeys(("snapshot", "matchSnapshot"), "write expect: {golden: NAME.golden.yaml}"),
}  # fmt: skip
#: The same within `expect`.
_OF_EXPECT: Final = {
    **dict.fromkeys(
        ("equal", "contains", "matchRegex", "isSubset", "exists", "hasDocuments", "containsDocument", "spec",
         "containers", "sidecars", "sidecar", "metadata", "patch"),
        "write the part of the pod in `pod:`, such as pod: {spec: {containers: [{name: web}]}}",
    ),
    **dict.fromkeys(
        ("notExists", "notEqual", "notContains", "isNull"), "write !absent in `pod:` for what must not be in the output"
    ),
    **dict.fromkeys(("matchSnapshot", "snapshot"), "write golden: NAME.golden.yaml"),
    **dict.fromkeys(("failedTemplate", "error", "errorMessage", "fails"), "write decision: failed and message: ..."),
    **dict.fromkeys(
        ("injected", "status", "outcome", "effect", "allowed"), "write decision: injected, or another decision"
    ),
    **dict.fromkeys(("configMap", "configmap", "config", "data"), "write files: {NAME: [...]}"),
    **dict.fromkeys(("warning",), "write warnings: [...]"),
}  # fmt: skip
#: The same at the top of a file.
TOP: Final = {
    **dict.fromkeys(("suite", "name", "description"), "leave it out: each case has a `name:`"),
    **dict.fromkeys(("tests", "test", "specs", "it"), "write cases:"),
    **dict.fromkeys(
        ("templates", "template"),
        "remove it: the cases in this file always test the template whose folder contains the file",
    ),
    **dict.fromkeys(("values", "set", "params"), "write `params:` in each case"),
    **dict.fromkeys(("release", "capabilities", "settings", "namespace", "kubernetes"), "write it in each case"),
}


def key_help(key: str, value: Any, steps: tuple[str | int, ...]) -> str:
    """What to do about an unknown key at these steps of a case; "" where its spelling tells. `value` is its value."""
    if steps == ("expect",):
        return _OF_EXPECT.get(key, "")
    if steps:
        return ""
    meant = _RENAMED.get(key)
    if meant is None:
        return _CASE.get(key, "")
    shown = "" if isinstance(value, Absent) else f"{meant}: {flow_value(value)}"
    return f"write {shown if 0 < len(shown) <= _LONGEST else f'{meant}:'}"
