"""Manifests as documents: read one by one, and written back so that an untouched one keeps every byte.

A document that changes keeps every line that stays true (`yaml_splice`). Where that cannot be done its body is written
anew: comments in it are lost and aliases are written out; what stands before it (`---`, directives, comments) stays.
"""

from __future__ import annotations

import codecs
import io
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from injector.advice.commands import foreign_object, foreign_source
from injector.authoring.manifest_writer import closable, dump_json, dump_yaml
from injector.authoring.yaml_stream import comments_in, split_yaml
from injector.cli.inputs import STDIN, Input, read_inputs
from injector.cli.json_stream import NotJsonError, split_json
from injector.cli.yaml_splice import spliced
from injector.diagnostics import Diagnostic, Place
from injector.errors import DocumentError
from injector.pods.context import Object, objects_of

_BOM = "\ufeff"
#: Bytes of output that are kept in memory until all of it is known to be good.
_IN_MEMORY = 8 * 1024 * 1024
#: In JSON, half of a character beyond the Basic Multilingual Plane: https://www.rfc-editor.org/rfc/rfc8259#section-7
_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
#: Line ends of YAML 1.1: https://yaml.org/spec/1.1/#b-char
_BREAKS = ("\n", "\r", "\x85", "\u2028", "\u2029")


@dataclass(frozen=True, slots=True)
class Document:
    """One document of an input: `number` and `line` count from 1, `value` is what it says, `json` how it says it, and
    `objects` are those of its value.

    Its text is `before + body + after`. `head` is what stands before a body that is written anew. If the value is not
    the one that was read, `changed` are the lines that changed; `anew` says that all did, and `lost_lines` are those
    whose comments are gone.
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
    lost_lines: tuple[int, ...] = ()
    objects: tuple[Object, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Find the objects, once: who is asked where one of them stands looks for the object itself."""
        object.__setattr__(self, "objects", tuple(objects_of(self.value)))

    @property
    def text(self) -> str:
        """The document as it stands in the input."""
        return self.before + self.body + self.after

    @property
    def lost(self) -> bool:
        """Whether comments of it are gone."""
        return bool(self.lost_lines)

    @property
    def place(self) -> str:
        """Where a person finds it."""
        return f"{self.source}, document {self.number}, line {self.line}"


def read_documents(source: Input) -> list[Document]:
    """The documents of an input, in order, at least one: joining their texts gives the input.

    Raises DocumentError, naming file, document and line, for what is not UTF-8, is neither YAML nor JSON, has a key
    twice in one object, an alias without end, or more or deeper values than any manifest has.
    """
    name = source.name
    if reason := foreign_source(name):
        raise DocumentError(f"{name}: {reason}")
    if source.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DocumentError(f"{name}: is UTF-16; save it as UTF-8")
    try:
        text = source.data.decode()
    except UnicodeDecodeError as error:
        line = source.data.count(b"\n", 0, error.start) + 1
        raise DocumentError(f"{name}, line {line}: byte 0x{source.data[error.start]:02x} is not UTF-8") from None
    is_json = text.removeprefix(_BOM).lstrip(" \t\r\n").startswith("{")  # the way `kubectl` guesses
    try:
        pieces = list((split_json if is_json else split_yaml)(text, name))
    except NotJsonError:  # a flow mapping of YAML starts with the same brace
        if name.lower().endswith(".json"):
            raise
        pieces, is_json = list(split_yaml(text, name)), False
    return [
        Document(name, number, piece.line, piece.value, piece.before, piece.body, piece.after, piece.head, json=is_json)
        for number, piece in enumerate(pieces, 1)
    ]


def rewritten(document: Document, value: Any) -> Document:
    """The document with another value: what is the same stays as it is written, where that can be done.

    Otherwise its head and line ends stay, and its body is written anew.
    """
    if not document.json and (splice := spliced(document.body, document.value, value)):
        body, lines = splice
        first = document.line + document.before.count("\n")
        changed = tuple(first + line - 1 for line in lines)
        return replace(document, value=value, body=body, changed=changed, lost_lines=_lost_lines(document, body))
    return written_anew(document, value)


def _lost_lines(document: Document, body: str) -> tuple[int, ...]:
    """The lines of the document whose comments are not in its new body."""
    first = document.line + document.before.count("\n")
    left = Counter(body[start:end] for start, end in comments_in(body))
    lines = []
    for start, end in comments_in(document.body):
        comment = document.body[start:end]
        left[comment] -= 1
        if left[comment] < 0:
            lines.append(first + document.body.count("\n", 0, start))
    return tuple(dict.fromkeys(lines))


def written_anew(document: Document, value: Any) -> Document:
    """The document with another value: its head and line ends stay, its body is written anew."""
    after, lost = document.after, tuple[int, ...]()
    if document.json:
        indentation = re.search(r"[{\[]\r?\n([ \t]+)", document.body)
        body = dump_json(value, indentation[1] if indentation else None)
    else:
        body, lost = dump_yaml(value), _lost_lines(document, "")
        after = _line_ends("...\n", document) if after.startswith("...") else ""
    return replace(
        document,
        value=value,
        before=_line_ends(document.head, document),
        body=_line_ends(body, document),
        after=after,
        anew=not document.json,
        lost_lines=lost,
    )


def added(value: Any, beside: Document) -> Document:
    """A new document to stand after `beside`, in its format and with its line ends."""
    body = dump_json(value, 2) + "\n" if beside.json else dump_yaml(value)
    head = "" if beside.json else _line_ends("---\n", beside)
    return replace(beside, value=value, before=head, body=_line_ends(body, beside), after="", head=head)


def join_documents(documents: list[Document]) -> str:
    """The documents as one stream. Raises DocumentError as `document_stream` does."""
    return "".join(document_stream(documents, as_json=all(document.json for document in documents)))


def document_stream(documents: Iterable[Document], *, as_json: bool) -> Iterator[str]:
    """The pieces of one stream of documents; `as_json` if all of them are JSON.

    Separators are put in only where the texts alone would run into each other. Raises DocumentError for JSON that
    cannot stand beside YAML.
    """
    last = blank = ""
    previous: Document | None = None
    for document in documents if as_json else map(_for_yaml, documents):
        text = document.text
        if previous is not None and document.number == 1:
            text = text.removeprefix(_BOM)
        if not text.strip():
            blank = blank or text
            continue
        # Two documents that stood side by side in one input are separated already.
        follows = previous is not None and (document.source, document.number) == (previous.source, previous.number + 1)
        if not (follows and (as_json or not document.json)):
            line_end = "\r\n" if "\r\n" in text else "\n"
            last = _closed(last, line_end, as_json=as_json)
            if not as_json:
                text = _separator(text, document, previous, line_end) + text
        yield last
        last = text
        previous = document
    yield last or blank


def _closed(text: str, line_end: str, *, as_json: bool) -> str:
    """A text such that a document may follow it: what is not empty ends with a line end."""
    if not text or text.endswith(_BREAKS):
        return text
    return (text if as_json else closable(text)) + line_end


def _separator(text: str, document: Document, previous: Document | None, line_end: str) -> str:
    """What to put between the previous document of a YAML stream and the text of the next; "" where that is there."""
    if _separate(text, previous):
        return ""
    if text.lstrip().startswith("%"):
        return "..." + line_end
    # A stream that starts with "{" would be taken for JSON as a whole: there is some YAML in it.
    return "---" + line_end if previous is not None or document.json else ""


def _for_yaml(document: Document) -> Document:
    """The document as it may stand in a YAML stream: escaped surrogates of JSON become characters."""
    if not (document.json and _SURROGATE.search(document.body)):
        return document
    again = written_anew(document, document.value)
    if _SURROGATE.search(again.body):
        raise DocumentError(f"{document.place}: a string holds half of a surrogate pair, which YAML cannot hold")
    return again


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
    _check_documents(documents, names)
    return documents


def _check_documents(documents: Sequence[Document], names: Collection[str]) -> None:
    """Refuse a file of `names` that holds no object but something else, and inputs that hold none at all.

    In a folder such a file is no error if other files have objects, and neither is such a document beside others.
    Raises DocumentError.
    """
    full = [document for document in documents if document.value is not None]
    foreign = [(document, text) for document in full if (text := foreign_object(document.value, document.source))]
    objects = Counter(document.source for document in full)
    objects.subtract(document.source for document, _ in foreign)
    for document, text in foreign:
        if not objects.total() or (not objects[document.source] and document.source in (*names, STDIN)):
            place = Place(document.source, document.line + document.before.count("\n"))
            raise DocumentError(f"{place}: {text}", Diagnostic("document", "error", text, place=place))
    if documents and not any(document.text for document in documents) and documents[0].source != STDIN:
        raise DocumentError(_emptied(documents[0].source))


def empty_inputs(documents: Sequence[Document]) -> Iterator[str]:
    """A sentence for each input that holds nothing at all; where no input holds an object, one about them."""
    for document in documents:
        if document.number == 1 and not document.text:
            piped = f"{STDIN}: it is empty; look at the command that writes it"
            yield piped if document.source == STDIN else _emptied(document.source)
    blank = [document for document in documents if document.text]
    if blank and all(document.value is None for document in documents):
        yield f"{blank[0].source}: it holds no object"


def _emptied(name: str) -> str:
    """What to say about an input that holds nothing at all."""
    return (
        f"{name}: it is empty. If you redirect the output to the same file (> {name}), the shell empties the file "
        "first. Restore the file, then write to another file"
    )


def texts_by_source(documents: Iterable[Document]) -> dict[str, str]:
    """The text of each input, by its name, in order. Raises DocumentError as `join_documents` does."""
    groups = defaultdict(list)
    for document in documents:
        groups[document.source].append(document)
    return {source: join_documents(own) for source, own in groups.items()}


def spooled(texts: Iterable[str]) -> IO[bytes]:
    """Texts as UTF-8, which take no memory when they are many. Raises DocumentError if the disk is full."""
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  `write_manifests` closes it
    for text in texts:
        try:
            file.write(text.encode())
        except OSError as error:
            raise DocumentError(f"temporary file: {error.strerror or error}") from None
    file.seek(0)
    return cast("IO[bytes]", file)


def write_manifests(manifests: IO[bytes] | list[Document]) -> None:
    """Write documents, or what `spooled` made of them, to standard output as UTF-8, whatever the locale.

    Raises DocumentError when it cannot be written to (a full disk).
    """
    if isinstance(manifests, list):
        manifests = spooled([join_documents(manifests)])
    if sys.stdout is None:
        raise DocumentError("standard output is closed")
    try:
        with manifests:
            shutil.copyfileobj(manifests, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DocumentError(f"standard output: {error.strerror or error}") from None
