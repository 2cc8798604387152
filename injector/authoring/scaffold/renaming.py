"""A template under another name: what carries its name in its files is called after the new one.

Only what is the template's own is renamed: containers, volumes and ports called after it, its annotations, its name in
lists of templates and in commands, its README's title. The program may have the same name (nginx), so its image, its
command, its paths and its config files stay.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path

from injector.authoring.cases.golden import golden_problem
from injector.authoring.cases.harness import CaseError, Harness
from injector.authoring.cases.suite import TESTS, read_suite
from injector.templates.template import OVERLAY


def write_goldens(folder: Path) -> None:
    """Write the golden file of each case that has one. Skips cases that cannot be run; `injector test` reports them.

    Raises DocumentError for a file that cannot be written, TemplateError for a template that does not load.
    """
    bench = Harness(folder, str(folder))
    for checked in read_suite(folder, str(folder)).cases:
        if checked.case.expect.golden is not None:
            with contextlib.suppress(CaseError):
                golden_problem(checked, bench.run(checked), bench.folder, update=True)


#: Kubernetes API reference: a port's name is an IANA service name, a container's and a volume's a DNS label.
_PORT, _LABEL = 15, 63

#: What a name in YAML is followed by.
_END = r"""(?=["'\s,}\]:]|$)"""
#: Where the template's own name stands and nothing else can be meant. NAME is the name.
_PLACES = (
    rf"""\bname: ["']?NAME{_END}""",  # a container: in overlays, and in cases
    r"(?<![\w./-])NAME\.sidecar\.injector/",  # an annotation
    r"sidecar\.injector/NAME\.",  # a config file in an annotation
    r"-NAME-(?=[0-9a-f]{10})",  # a generated ConfigMap
    r"^# NAME$",  # a title
    r"\btemplates/NAME\b(?!-)",
    r"\b(?:render|lint|test|docs) NAME\b(?!-)",  # a command
    r"--templates? NAME\b(?!-)",
    r"--param NAME\.",
    r"\bparameters: *(?:\{ *|\n +)NAME:",  # settings
)
#: The same in cases, which quote what the injector says.
_SAID = (
    r"\b(?:template|container|sidecar|volume) NAME(?![\w./-])",
    r"\bsidecar \((?:[-a-z0-9]+, )*NAME(?=[,)])",
)
#: A list of templates, in an annotation, in settings or in a case: the name may be anywhere in it.
_LIST = re.compile(r"""\btemplates["']?:[^\n#]*""")


class LongNameError(ValueError):
    """The new name is too long for a name that is made from it."""


def renamed(files: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The files' texts by path, with everything named after `old` named after `new`.

    Raises LongNameError where a container or volume would have a name that Kubernetes refuses.
    """
    overlay = "\n".join(text for path, text in files.items() if path == OVERLAY or path.startswith("_"))
    derived = rf"{re.escape(old)}(?:-[a-z0-9]+)+"
    names = set(re.findall(rf"""\bname: ["']?({derived}){_END}""", overlay))
    ports = set(re.findall(rf"""\bname: ["']?({derived})["']?, containerPort:""", overlay))
    mapping = {
        name: _derived(name.removeprefix(old), new, port=name in ports) for name in sorted(names, key=len, reverse=True)
    }
    return {path: _with_names(_with_name(path, text, old, new), mapping) for path, text in files.items()}


def _derived(rest: str, new: str, *, port: bool) -> str:
    """The name of a part that was named after the template and `rest`. That of a port is cut where it has to be."""
    if port:
        return new[: _PORT - len(rest)].rstrip("-") + rest
    if len(new + rest) > _LABEL:
        raise LongNameError(
            f"{new} is too long: {new}{rest} would have {len(new + rest)} characters; the limit is {_LABEL}"
        )
    return new + rest


def _with_name(path: str, text: str, old: str, new: str) -> str:
    """The text of a file with the template's bare name replaced."""
    name = re.escape(old)
    port = _derived("", new, port=True)
    if port != new and re.search(rf"""\bname: ["']?{name}["']?, containerPort:""", text):
        # a port that is called just so, and where it is meant
        text = re.sub(rf"""(\bname: ["']?){name}(?=["']?, containerPort:)""", rf"\g<1>{port}", text)
        text = re.sub(rf"""(\bport: ["']?){name}{_END}""", rf"\g<1>{port}", text)
    for place in (*_PLACES, *(_SAID if path.startswith(f"{TESTS}/") else ())):
        pattern = re.compile(place.replace("NAME", name), re.MULTILINE)
        text = pattern.sub(lambda match: _last(match[0], old, new), text)
    word = re.compile(rf"(?<![\w./-]){name}(?![\w./-])")
    return _LIST.sub(lambda match: word.sub(new, match[0]), text)


def _last(text: str, old: str, new: str) -> str:
    """The text with the last occurrence of a name replaced."""
    before, _, after = text.rpartition(old)
    return before + new + after


def _with_names(text: str, mapping: Mapping[str, str]) -> str:
    """The text with whole names replaced; what is part of a path, of an image or of a longer name is none of them."""
    if not mapping:
        return text
    names = "|".join(re.escape(name) for name in sorted(mapping, key=len, reverse=True))
    return re.sub(rf"(?<![\w./-])(?:{names})(?![\w/-])", lambda match: mapping[match[0]], text)
