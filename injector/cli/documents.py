"""Manifests as documents: read one by one, and written back so that an untouched one keeps every byte.

A document that changes keeps every line that stays true (`yaml_splice`). Where that cannot be done its body is written
anew: comments in it are lost and aliases are written out; what stands before it (`---`, directives, comments) stays.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from injector.authoring.yaml_stream import has_comment, split_yaml
from injector.cli.foreign_files import check_documents, foreign_source
from injector.cli.inputs import Input, read_inputs
from injector.cli.manifest_writer import closable, dump_json, dump_yaml
from injector.cli.yaml_splice import spliced
from injector.errors import DocumentError
from injector.templates.kubernetes_yaml import DEPTH

_SPACE = " \t\r\n"


class NotJsonError(DocumentError):
    """The text is not JSON; it may still be YAML."""


@dataclass(frozen=True, slots=True)
class JsonPiece:
    """One value of a stream: the line it starts on (from 1), the white space around it, its own text, its value."""

    line: int
    before: str
    body: str
    after: str
    value: Any


def looks_like_json(text: str) -> bool:
    """Whether a text starts as a JSON object does, the way `kubectl` guesses."""
    return text.removeprefix("\ufeff").lstrip(_SPACE).startswith("{")


def split_json(text: str, source: str) -> Iterator[JsonPiece]:
    """The values of a stream; joined, their parts are the text.

    Raises NotJsonError with the place for what is not JSON, and DocumentError for a key that is there twice in one
    object, for a number that is none, and for values nested deeper than DEPTH.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float)
    at = number = counted = 0
    line = 1
    while at < len(text):
        start = _skip(text, at)
        number += 1
        line += text.count("\n", counted, start)
        counted = start
        place = f"{source}, document {number}, line {line}"
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise NotJsonError(f"{source}, document {number}, line {error.lineno}: not JSON: {error.msg}") from None
        except RecursionError:
            raise DocumentError(f"{place}: values nested deeper than {DEPTH}") from None
        except DocumentError as error:
            raise DocumentError(f"{place}: {error}") from None
        if _deeper(value, DEPTH):
            raise DocumentError(f"{place}: values nested deeper than {DEPTH}")
        # What follows the value on its line is its own; the last value has all that is left.
        newline = text.find("\n", end)
        stop = newline + 1 if newline >= 0 and not text[end:newline].strip(_SPACE) else end
        if _skip(text, stop) == len(text):
            stop = len(text)
        yield JsonPiece(line, text[at:start], text[start:end], text[end:stop], value)
        at = stop


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE + "\ufeff":
        at += 1
    return at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DocumentError(f'the key "{key}" occurs twice in one object')
            seen.add(key)
    return found


def _no_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise DocumentError(f"the number {text[:40]} is too large")
    return number


def _deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return not levels or any(_deeper(v, levels - 1) for v in value.values())
    if isinstance(value, list):
        return not levels or any(_deeper(v, levels - 1) for v in value)
    return False


_BOM = "\ufeff"
#: In JSON, half of a character beyond the Basic Multilingual Plane: https://www.rfc-editor.org/rfc/rfc8259#section-7
_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
#: Line ends of YAML 1.1: https://yaml.org/spec/1.1/#b-char
_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of an input: `number` and `line` count from 1, `value` is what it says, `json` how it says it.

    Its text is `before + body + after`. `head` is what stands before a body that is written anew. If the value is not
    the one that was read, `changed` are the lines that changed. `anew` says that all did, and `lost` that there were
    comments among them.
    """

    source: str
    number: int
    line: int
    value: Any
    before: str
    body: str
    after: str
    head: str
    json: bool = False
    changed: tuple[int, ...] = ()
    anew: bool = False
    lost: bool = False

    @property
    def text(self) -> str:
        """The document as it stands in the input."""
        return self.before + self.body + self.after

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.source}, document {self.number}, line {self.line}"

    @property
    def has_comments(self) -> bool:
        """Whether a comment is lost when the body is written anew."""
        return not self.json and has_comment(self.body)


def read_documents(source: Input) -> list[Document]:
    """The documents of an input, in order, at least one: joining their texts gives the input.

    Raises DocumentError, naming file, document and line, for what is not UTF-8, is neither YAML nor JSON, has a key
    twice in one object, an alias without end, or more or deeper values than any manifest has.
    """
    name = source.name
    if words := foreign_source(name):
        raise DocumentError(f"{name}: {words}")
    if source.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DocumentError(f"{name}: is UTF-16; save it as UTF-8")
    try:
        text = source.data.decode()
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"{name}, line {line}: byte 0x{source.data[error.start]:02x} is not UTF-8") from None
    if looks_like_json(text):
        try:
            return [
                Document(name, number, p.line, p.value, p.before, p.body, p.after, p.before, json=True)
                for number, p in enumerate(split_json(text, name), 1)
            ]
        except NotJsonError:
            # A flow mapping of YAML starts with the same brace.
            if name.lower().endswith(".json"):
                raise
    return [
        Document(name, number, p.line, p.value, p.before, p.body, p.after, p.head)
        for number, p in enumerate(split_yaml(text, name), 1)
    ]


def rewritten(document: Document, value: Any) -> Document:
    """The document with another value: what is the same stays as it is written, where that can be done.

    Otherwise its head and line ends stay, and its body is written anew.
    """
    if not document.json and (found := spliced(document.body, document.value, value)):
        body, lines = found
        first = document.line + document.before.count("\n")
        return replace(document, value=value, body=body, changed=tuple(first + line - 1 for line in lines))
    return written_anew(document, value)


def written_anew(document: Document, value: Any) -> Document:
    """The document with another value: its head and line ends stay, its body is written anew."""
    after = document.after
    if document.json:
        found = re.search(r"[{\[]\r?\n([ \t]+)", document.body)
        body = dump_json(value, found[1] if found else None)
    else:
        body = dump_yaml(value)
        after = _line_ends("...\n", document) if after.startswith("...") else ""
    head = _line_ends(document.head, document)
    return replace(
        document,
        value=value,
        before=head,
        body=_line_ends(body, document),
        after=after,
        anew=not document.json,
        lost=document.has_comments,
    )


def added(value: Any, beside: Document) -> Document:
    """A new document to stand after `beside`, in its format and with its line ends."""
    body = dump_json(value, 2) + "\n" if beside.json else dump_yaml(value)
    head = "" if beside.json else _line_ends("---\n", beside)
    return replace(beside, value=value, before=head, body=_line_ends(body, beside), after="", head=head)


def join_documents(documents: list[Document]) -> str:
    """The documents as one stream: separators are put in only where the texts alone would run into each other.

    Raises DocumentError for JSON that cannot stand beside YAML.
    """
    as_json = all(document.json for document in documents)
    out: list[str] = []
    previous: Document | None = None
    for document in documents:
        text = (document if as_json else _for_yaml(document)).text
        text = text.removeprefix(_BOM) if out and document.number == 1 else text
        if len(documents) > 1 and not text.strip():
            continue
        if not (_follows(document, previous) and (as_json or not document.json)):
            line_end = "\r\n" if "\r\n" in text else "\n"
            if out and not out[-1].endswith(_BREAKS):
                out[-1:] = [out[-1] if as_json else closable(out[-1]), line_end]
            if not as_json and not _separate(text, previous):
                # A stream that starts with "{" would be taken for JSON as a whole: there is some YAML in it.
                if text.lstrip().startswith("%"):
                    out.append("..." + line_end)
                elif previous is not None or document.json:
                    out.append("---" + line_end)
        out.append(text)
        previous = document
    return "".join(out)


def _for_yaml(document: Document) -> Document:
    """The document as it may stand in a YAML stream: escaped surrogates of JSON become characters."""
    if not (document.json and _SURROGATE.search(document.body)):
        return document
    again = written_anew(document, document.value)
    if _SURROGATE.search(again.body):
        raise DocumentError(f"{document.place}: a string holds half of a surrogate pair, which YAML cannot hold")
    return again


def _follows(document: Document, previous: Document | None) -> bool:
    """Whether two documents stood side by side in one input, which separates them."""
    return previous is not None and (document.source, document.number) == (previous.source, previous.number + 1)


def _separate(text: str, previous: Document | None) -> bool:
    """Whether a text starts a document of its own, anywhere or at least after the previous document."""
    for line in text.splitlines():
        if line.startswith("---"):
            return True
        if line.startswith("%"):
            return previous is None or previous.after.startswith("...")
        if line.strip() and not line.lstrip().startswith("#"):
            return False
    return previous is None


def _line_ends(text: str, document: Document) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in document.text else text


def read_manifests(names: Iterable[str]) -> list[Document]:
    """All documents of files, folders, URLs and `-` (standard input), in order.

    Raises DocumentError, also for a file that holds no Kubernetes object: where somebody names it, or where there is
    nothing else in a folder.
    """
    stdin = io.BytesIO() if sys.stdin is None else sys.stdin.buffer  # closed: `<&-`
    names = list(names)
    documents = [d for source in read_inputs(names, stdin) for d in read_documents(source)]
    check_documents(documents, names)
    return documents


def texts_by_source(documents: list[Document]) -> dict[str, str]:
    """The text of each input, by its name, in order. Raises DocumentError as `join_documents` does."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(document.source, []).append(document)
    return {source: join_documents(own) for source, own in groups.items()}


def write_manifests(documents: list[Document]) -> None:
    """Write documents to standard output as UTF-8, whatever the locale, with their own line ends.

    Raises DocumentError when it cannot be written to (a full disk).
    """
    if sys.stdout is None:
        raise DocumentError("standard output is closed")
    try:
        sys.stdout.buffer.write(join_documents(documents).encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DocumentError(f"standard output: {error.strerror or error}") from None
