"""What the files of a template read, by their text alone."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import Environment, TemplateSyntaxError, nodes

from injector.authoring.lint.subject import Subject
from injector.templates.template import OVERLAY

_PARSER = Environment(autoescape=False, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)  # noqa: S701


def sources_used(subject: Subject, *roots: str) -> set[str]:
    """The files that are rendered, or those of `roots`, and those that these include or import, at any depth."""
    found = list(roots) or [OVERLAY, *(spec.template for spec in subject.template.files.values())]
    for file in found:
        tree = parsed(subject.sources.get(file, ""))
        for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport)):
            names = node.template  # type: ignore[attr-defined]
            for constant in [names, *names.find_all(nodes.Const)]:
                if isinstance(constant, nodes.Const) and constant.value in subject.sources:
                    found += [constant.value] if constant.value not in found else []
    return set(found)


def parameters_read(subject: Subject) -> set[str] | None:
    """The parameters, by their names in templates, that files in use read; None where one takes `params` as a whole."""
    read = set()
    for file in sources_used(subject):
        tree = parsed(subject.sources[file])
        named = 0
        for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
            inner = node.node  # type: ignore[attr-defined]
            if not (isinstance(inner, nodes.Name) and inner.name == "params"):
                continue
            if isinstance(node, nodes.Getattr):
                read.add(node.attr)
            elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
                read.add(str(node.arg.value))
            else:
                return None
            named += 1
        if named != sum(name.name == "params" for name in tree.find_all(nodes.Name)):
            return None
    return read


@lru_cache(maxsize=256)
def parsed(text: str) -> nodes.Template:
    """The syntax tree of a file; an empty one where it is no template."""
    try:
        return _PARSER.parse(text)
    except TemplateSyntaxError:
        return nodes.Template([])
