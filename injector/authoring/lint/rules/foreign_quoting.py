"""A text file quotes a value for the syntax of another kind of file.

Each syntax has its own quoting. For example, quoting for JSON does not escape `${`, which HCL expands, or `$(`, which a
shell runs. So if a value is quoted for another syntax, a part of the value may still have a meaning in this file, or
end the string that contains the value. If a pod sets a value with such a part, the injection fails, and the pod gets no
sidecar. Use the filter `quote`, which quotes a value for the syntax of the file. The injector knows the syntax by the
file's name, or by `syntax:` in template.yaml. If it knows the syntax from neither, the rule also reports `quote` and
`json_quote`: set `syntax:` for this file.

Source: docs/templates.md, "Config files".

Bad:
    # template.yaml
    description: Ships the app's logs.
    parameters:
      title: {type: string, maxLength: 80, default: logs, description: What the log is called.}
    files:
      agent.hcl: {}
    # agent.hcl.j2
    title = {{ params.title | json_quote }}
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-config, mountPath: /etc/shipper, readOnly: true}
      volumes:
      - name: shipper-config
        configMap: {name: "{{ files.configmap }}"}

Good:
    # agent.hcl.j2
    title = {{ params.title | quote }}

Proof: the program can read the file; the tests of each syntax show what a value can do in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from injector.authoring.lint.rules._reading import sources_used
from injector.authoring.lint.subject import Finding, Subject
from injector.templates.environment import Environment
from injector.templates.program import is_document
from injector.templates.quoting import NAMED, USE_QUOTE

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each filter of another syntax, of those that write into the file."""
    syntaxes = {spec.template: spec.syntax for spec in subject.template.files.values()}
    for source, syntax in sorted(syntaxes.items()):
        for file in sorted(sources_used(subject, source)) if not is_document(source) else ():
            for name, offset in _filters(subject.sources[file]):
                place = subject.template.program.place(file, offset, name)
                if syntax and NAMED.get(name, syntax) != syntax:
                    yield Finding(f"{name} quotes for {NAMED[name]}, but {source} is {syntax}", place, USE_QUOTE)
                elif not syntax and name in ("quote", "json_quote") and not subject.failures:
                    # others name the syntax that nothing else does
                    to_do = "set the file's `syntax:` in template.yaml, and " + USE_QUOTE
                    yield Finding(f"{source} uses {name}, but the syntax of this file is not known", place, to_do)


def _filters(text: str) -> Iterator[tuple[str, int]]:
    """The filters that come last in what is written or set, with their offsets."""
    tree = Environment(document=False).parse(text)
    written: list[nodes.Node] = [node for output in tree.find_all(nodes.Output) for node in output.nodes]
    written += [assign.node for assign in tree.find_all(nodes.Assign)]
    for node in written:
        if isinstance(node, nodes.CondExpr):
            written += [expression for expression in (node.expr1, node.expr2) if expression is not None]
        elif isinstance(node, nodes.Filter) and node.node is not None:
            yield node.name, node.lineno - 1  # this environment counts characters
