"""The pictures of the documentation as SVG: the decision table from the code, the way of a pod, and a real `demo`.

python -m deploy.diagrams     writes docs/decision.svg, docs/way-of-a-pod.svg and docs/demo.svg
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.text import Text

from injector.pods.decision import STEPS
from injector.reasons import Effect, Reason

_DOCS = Path(__file__).resolve().parent.parent / "docs"
#: How rich draws a terminal, with the reader's own fonts: the site asks no other host for anything.
_TERMINAL = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{font: {char_height}px/{line_height}px ui-monospace, monospace}}
.{unique_id}-title {{font: bold 16px system-ui, sans-serif}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
_COLUMNS = 116
_INK, _GREY, _BLUE, _GREEN = "#1f2933", "#616e7c", "#2b6cb0", "#2f855a"

#: The stages of a pod in the injector as CONTRIBUTING.md names them, in a few words each.
STAGES: Mapping[str, str] = {
    "namespace": "its labels and annotations",
    "decision": "inject, or not",
    "templates": "which ones, in which order",
    "parameters": "values, checked by their schema",
    "overlay": "the template fills its typed holes",
    "merge": "fill in, do not overwrite",
    "receipt": "note what was added",
    "constraints": "would the API server take it?",
    "patch": "what changed, as JSON Patch",
}


def decision() -> str:
    """The decision table: its steps from the top, and what each that fits leads to."""
    rows = [*(reason for reason, _ in STEPS), Reason.NOT_REQUESTED]
    step, left, width = 44, 16, 540
    parts, height = [], 56 + step * len(rows)
    for number, reason in enumerate(rows):
        top, last = 48 + step * number, number == len(rows) - 1
        injects = reason.effect(required=False) is Effect.INJECT
        overruled = not injects and reason.effect(required=True) is Effect.INJECT
        outcome = "inject" if injects else "no sidecar; if required, continue" if overruled else "no sidecar"
        colour = _GREEN if injects else _GREY
        parts += [
            _box(left, top, width, 32, "none" if last else "#f5f7fa", "#cbd2d9"),
            _text(left + 12, top + 20, "otherwise" if last else reason.sentence),
            _text(left + width + 52, top + 20, outcome, colour, "600"),
            _text(left + width + 320, top + 20, str(reason), _GREY, font="ui-monospace, monospace"),
            _arrow(left + width, top + 16, left + width + 44, top + 16),
        ]
        if not last:
            parts.append(_arrow(left + 24, top + 32, left + 24, top + step))
    return _drawing("How it is decided: the first step that fits decides", 1080, height, parts)


def way_of_a_pod() -> str:
    """The way of a pod from the one who creates it to the kubelet, and through the injector's stages."""
    stations = (
        ("Deployment, kubectl", "creates a pod"),
        ("API server", "calls the webhook"),
        ("API server", "applies the patch"),
        ("Pod Security, guard", "accept or refuse"),
        ("kubelet", "starts the pod"),
    )
    wide, gap, top = 184, 24, 52
    parts: list[str] = []
    for number, (title, what) in enumerate(stations):
        x = 16 + number * (wide + gap)
        parts += [
            _box(x, top, wide, 56, "#f5f7fa", "#cbd2d9"),
            _text(x + wide / 2, top + 24, title, weight="600", anchor="middle"),
            _text(x + wide / 2, top + 43, what, _GREY, anchor="middle"),
        ]
        if number:
            parts.append(_arrow(x - gap, top + 28, x, top + 28))
    down, up = 16 + (wide + gap) + wide / 2, 16 + 2 * (wide + gap) + wide / 2
    frame, columns = 168, 3
    parts += [
        _arrow(down, top + 56, down, frame),
        _text(down - 8, top + 88, "review", _GREY, anchor="end"),
        _arrow(up, frame, up, top + 56),
        _text(up + 8, top + 88, "patch, warnings, reason", _GREY),
        _box(16, frame, 5 * wide + 4 * gap, 230, "#ebf4fb", _BLUE),
        _text(32, frame + 26, "sidecar-injector", _BLUE, "600"),
    ]
    cell, high = (5 * wide + 4 * gap - 64) / columns, 46
    for number, (name, what) in enumerate(STAGES.items()):
        x, y = 32 + (number % columns) * (cell + 16), frame + 40 + (number // columns) * (high + 16)
        parts += [
            _box(x, y, cell, high, "#ffffff", "#cbd2d9"),
            _text(x + 12, y + 19, f"{number + 1}. {name}", weight="600"),
            _text(x + 12, y + 37, what, _GREY),
        ]
        if number % columns:
            parts.append(_arrow(x - 16, y + high / 2, x, y + high / 2))
    return _drawing("The way of a pod", 5 * wide + 4 * gap + 32, frame + 246, parts)


DIAGRAMS = {"decision.svg": decision, "way-of-a-pod.svg": way_of_a_pod}


def _drawing(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="14" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{_GREY}"/></marker></defs>\n'
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>\n'
    )
    return head + "\n".join([_text(16, 30, title, weight="600", size=16), *parts, "</svg>", ""])


def _box(x: float, y: float, width: float, height: float, fill: str, stroke: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return (
        f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{_GREY}" stroke-width="1.5" '
        'marker-end="url(#tip)"/>'
    )


def _text(
    x: float,
    y: float,
    words: str,
    colour: str = _INK,
    weight: str = "400",
    *,
    anchor: str = "start",
    font: str = "",
    size: int = 14,
) -> str:
    family = f' font-family="{font}"' if font else ""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}"{family}>{escape(words)}</text>'
    )


def terminal(command: list[str], typed: str) -> str:
    """A terminal with what a command really prints there, in colour; `typed` is what people type for it."""
    leader, follower = os.openpty()
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with subprocess.Popen(command, cwd=_DOCS.parent, env=env, stdout=follower, stderr=follower):
        os.close(follower)
        said = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while piece := os.read(leader, 65536):
                said += piece
    os.close(leader)
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {typed}"))
    for line in said.decode().replace("\r\n", "\n").splitlines():
        text = Text.from_ansi(line)
        text.truncate(_COLUMNS, overflow="ellipsis")
        console.print(text)
    return console.export_svg(title="sidecar-injector", code_format=_TERMINAL)


if __name__ == "__main__":
    for name, draw in DIAGRAMS.items():
        (_DOCS / name).write_text(draw())
    (_DOCS / "demo.svg").write_text(terminal(["injector", "demo"], "make demo"))
