"""Names: their syntax in Kubernetes, the nearest spelling of one, and values as they stand in a message."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from injector.budget import charge
from injector.diagnostics import printable

DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
DNS_SUBDOMAIN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
#: A label's value that is not empty, and a key without its prefix.
LABEL_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

#: Characters of the longest name that an object can have.
LONGEST_NAME = 253
_DNS_LABEL, _DNS_SUBDOMAIN, _LABEL_NAME = map(re.compile, (DNS_LABEL, DNS_SUBDOMAIN, LABEL_NAME))


def is_dns_label(name: object) -> bool:
    """Whether this is a DNS label: the name of a container, a volume, a namespace, a template."""
    return isinstance(name, str) and _DNS_LABEL.fullmatch(name) is not None


def is_object_name(name: object) -> bool:
    """Whether this is a DNS subdomain of at most 253 characters: the name of a workload or a pod.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
    """
    return isinstance(name, str) and len(name) <= LONGEST_NAME and _DNS_SUBDOMAIN.fullmatch(name) is not None


def is_kind(kind: object) -> bool:
    """Whether this is a kind of objects: without regard to case it is a DNS label that begins with a letter."""
    return is_dns_label(kind.lower() if isinstance(kind, str) else kind) and str(kind)[0].isalpha()


def is_label_value(value: str) -> bool:
    """Whether a label may have this value."""
    return not value or _LABEL_NAME.fullmatch(value) is not None


def is_label_key(key: str) -> bool:
    """Whether a label may have this key: a name, with or without a DNS name and a slash before it."""
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name):
        return False
    return not slash or (len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix) is not None)


#: What a value has to be, by the name of its type in JSON Schema.
WANTED = {
    "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false",
    "object": "a mapping", "array": "a list",
}  # fmt: skip
#: A text that YAML reads as one without quotes, also within `{...}`.
_PLAIN_TEXT = re.compile(
    r"(?!(?:true|false|null|yes|no|on|off|y|n|none)\Z)[A-Za-z/](?:[-\w./]|:(?=[-\w./]))*|\.\.\.", re.IGNORECASE
)
_QUOTES_HELP = {"add": "put it in quotes", "remove": "write it without quotes"}
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}\Z")


def quotes_help(value: object, types: Collection[str]) -> str:
    """What to do about a value whose type is wrong only because it has or lacks quotes, or brackets; "" for others."""
    if tuple(types) == ("array",) and isinstance(value, str | int | float):
        return f"write [{', '.join(shortened(item.strip()) for item in str(value).split(','))}]"
    return _QUOTES_HELP.get(quotes_change(value, types), "")


def quotes_change(value: object, types: Collection[str]) -> str:
    """Whether a value is of one of these types once it gets quotes (`add`) or loses them (`remove`); else ""."""
    if isinstance(value, str):
        number = _WHOLE.match(value) and not {"integer", "number"}.isdisjoint(types)
        return "remove" if number or (value in ("true", "false") and "boolean" in types) else ""
    return "add" if isinstance(value, bool | int | float) and "string" in types else ""


#: What a value is, by the name of its type in Python.
KINDS = {
    "str": "a string", "int": "a number", "float": "a number", "bool": "a boolean", "list": "a list",
    "tuple": "a list", "range": "a list", "dict": "a mapping", "NoneType": "null",
}  # fmt: skip


#: How many unknown names of one kind are compared with the known ones; an answer has no room for more warnings
#: (4,096 bytes), and each comparison takes as long as many containers do.
SEARCHES = 40


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is spelled most like `name`, or None if no similarity reaches `cutoff` (1: the same).

    Case, dashes and underscores do not count, so `appPort` finds `app-port`. The beginning of a name, at least a third
    of it, also finds it if no other name begins so: `old` finds `oldObject`, unless another name is more similar.
    """
    from difflib import get_close_matches  # rarely needed, and takes its time to import

    names = {_plain(k): k for k in candidates}
    charge(10 * len(names))
    word = _plain(name[:80])
    longer = [k for k in names if len(word) > 2 and k.startswith(word)]
    alone = longer if len(longer) == 1 and len(longer[0]) <= 3 * len(word) else []
    matches = get_close_matches(word, names, n=1, cutoff=0.7 if alone else cutoff) or alone
    return names[matches[0]] if matches else None


def hint(name: str, candidates: Iterable[str], introduction: str = "there are") -> str:
    """What to add to an error about an unknown name: `; did you mean x?`, or else what there is."""
    return f"; {suggestion(name, candidates, introduction)}"


def suggestion(name: str, candidates: Iterable[str], introduction: str = "there are") -> str:
    """The help with an unknown name: `did you mean x?`, or else what there is."""
    names = sorted(candidates)
    near = nearest(name, names)
    return did_you_mean(near, f"{introduction}: {', '.join(names)}" if names else "there are none")


def respelling(name: str, candidates: Iterable[str]) -> dict[str, Any]:
    """The `fields` of a Diagnostic about an unknown name: its `value`, and the `nearest` that there is, or None."""
    return {"value": name, "nearest": nearest(name, candidates)}


def did_you_mean(near: str | None, other: str = "") -> str:
    """The help with a name that may be meant; `other` where there is none."""
    return f"did you mean {near}?" if near else other


def to_write(text: str | None, other: str = "") -> str:
    """The help with what is known to be right; `other` where nothing is."""
    return f"write {text}" if text else other


def legal_name(name: str) -> str:
    """The nearest name that a template may have; empty where nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].rstrip("-")


#: What the name of a team's template begins with, where a pod names it.
TEAM: Final = "./"


def qualified(template: str, separator: str = ".") -> str:
    """A template's name as a part of another name: `x.team` for `./x`, which no cluster's template can be called."""
    return f"{template.removeprefix(TEAM)}{separator}team" if template.startswith(TEAM) else template


def unqualified(name: str) -> str:
    """The template of which `qualified` makes this."""
    return f"{TEAM}{name.removesuffix('.team')}" if name.endswith(".team") else name


def template_name(name: str) -> str:
    """The template that a name stands for: `php:1.2` for `php-1-2`, `PHP` and `php:latest` for `php`.

    Other injectors call their configs `name` or `name:version`, of which `latest` is the default. What a team's
    template is called is left as it is.
    """
    if name.startswith(TEAM):
        return name
    base, _, version = name.partition(":")
    return legal_name(base if version.strip().lower() in ("", "latest") else name) or name


def cut(message: str, length: int = 500) -> str:
    """A message, not longer than people read."""
    return message if len(message) <= length else message[: length - 3] + "..."


def shortened(value: object, length: int = 40) -> str:
    """A value as it may stand within a message: on one line, in double quotes if it is text, not longer than asked."""
    text = value if isinstance(value, str) else _spelled(value)
    text = printable(text[: length + 1])
    text = cut(text, length)
    return f'"{text}"' if isinstance(value, str) else text


def flow_value(value: object) -> str:
    """A value as YAML has it on one line: `{/x: {templates: [a]}}`; a text in quotes where it needs them."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flow_value(key)}: {flow_value(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow_value, value))}]"
    return value if isinstance(value, str) and _PLAIN_TEXT.fullmatch(value) else _spelled(value)


def shown_value(value: object, length: int = 40) -> str:
    """A pod's value in a message; what is in a list or a mapping may be secret, and only its kind is shown."""
    return kind_of(value) if isinstance(value, dict | list) else shortened(value, length)


def kind_of(value: object) -> str:
    """What a value is: `a string`, `a list`."""
    name = "str" if isinstance(value, str) else type(value).__name__
    return KINDS.get(name, f"a {name}")


def _spelled(value: object) -> str:
    """A value as YAML and JSON spell it: `true`, `null`, `["a"]`; its kind if they cannot spell it."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # a number of thousands of digits has no spelling
        return kind_of(value)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
