"""Bar charts and a dashboard's panels as SVG; bars and lines need no plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple
from xml.sax.saxutils import escape


def bars(title: str, values: list[tuple[str, float]]) -> str:
    """An SVG document with one horizontal bar a value, its figure beside it and its ratio to the first."""
    longest, first = max(value for _, value in values), values[0][1]
    height, left = 60 + 44 * len(values), 30 + round(8.6 * max(len(name) for name, _ in values))
    whole = left + 540
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{height}" viewBox="0 0 {whole} {height}" '
        'font-family="system-ui, sans-serif" font-size="14" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{whole}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="30" font-size="16" font-weight="600" fill="#1f2933">{escape(title)}</text>',
    ]
    for row, (name, value) in enumerate(values):
        top, width, colour = 52 + 44 * row, 380 * value / longest, "#2b6cb0" if row else "#9aa5b1"
        parts += [
            f'<text x="{left - 12}" y="{top + 19}" text-anchor="end" fill="#1f2933">{escape(name)}</text>',
            f'<rect x="{left}" y="{top}" width="{width:.1f}" height="28" rx="3" fill="{colour}"/>',
            f'<text x="{left + 8 + width:.1f}" y="{top + 19}" fill="#1f2933">{value:.0f} ({value / first:.2f}x)</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


class Panel(NamedTuple):
    """A panel of a dashboard: lines by their names, each of points: seconds and value."""

    title: str
    unit: str
    lines: dict[str, list[tuple[float, float]]]


def panels(title: str, drawn: Sequence[Panel]) -> str:
    """An SVG document with these panels, three in a line, each with at most six of its lines named."""
    rows = -(-len(drawn) // 3)
    width, height = 3 * _WIDE + 16, 48 + rows * _HIGH
    longest = max((at for panel in drawn for points in panel.lines.values() for at, _ in points), default=1) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="10" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="28" font-size="15" font-weight="600" fill="#1f2933">{escape(title)}</text>',
    ]
    for number, panel in enumerate(drawn):
        parts += _panel(panel, 16 + _WIDE * (number % 3), 44 + _HIGH * (number // 3), longest)
    return "\n".join([*parts, "</svg>", ""])


_WIDE, _HIGH = 320, 230
_NAMED = 6
_UNITS = {"reqps": "/s", "d": " d"}
_COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b7791f", "#c53030")


def _panel(panel: Panel, x: int, y: int, longest: float) -> list[str]:
    """One panel: its frame and scale, its lines, and below them their names."""
    left, wide, high = x + 56, _WIDE - 80, 100
    highest = max((value for points in panel.lines.values() for _, value in points if isfinite(value)), default=0) or 1
    bottom = y + 28 + high
    parts = [
        f'<rect x="{x}" y="{y}" width="{_WIDE - 12}" height="{_HIGH - 12}" rx="4" fill="none" stroke="#d2d6dc"/>',
        f'<text x="{x + 10}" y="{y + 18}" font-size="12" font-weight="600" fill="#1f2933">{escape(panel.title)}</text>',
    ]
    for share in (0, 0.5, 1):
        level = bottom - share * (high - 8)
        parts += [
            f'<line x1="{left}" y1="{level:.0f}" x2="{left + wide}" y2="{level:.0f}" stroke="#e4e7eb"/>',
            f'<text x="{left - 4}" y="{level + 3:.0f}" text-anchor="end" fill="#616e7c">'
            f"{escape(_scaled(share * highest, panel.unit))}</text>",
        ]
    for number, (name, points) in enumerate(sorted(panel.lines.items())):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(
            f"{left + wide * at / longest:.0f},{bottom - (high - 8) * value / highest:.0f}"
            for at, value in points
            if isfinite(value)
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        if number < _NAMED:
            text = name if len(name) < 56 else f"{name[:54]}…"
            parts.append(f'<text x="{x + 24}" y="{bottom + 16 + 13 * number}" fill="#1f2933">{escape(text)}</text>')
            line = bottom + 12 + 13 * number
            parts.append(f'<rect x="{x + 10}" y="{line}" width="10" height="3" fill="{colour}"/>')
    if (more := len(panel.lines) - _NAMED) > 0:
        parts.append(f'<text x="{x + 24}" y="{bottom + 16 + 13 * _NAMED}" fill="#616e7c">and {more} more</text>')
    return parts


def _scaled(value: float, unit: str) -> str:
    """A value of a scale as Grafana writes it."""
    if unit == "bytes":
        return f"{value / 1024 / 1024:.3g} MiB"
    if unit == "percentunit":
        return f"{100 * value:.0f}%"
    if unit == "s":
        return f"{value * 1000:.3g} ms" if 0 < value < 1 else f"{value:.3g} s"
    return f"{value:.3g}{_UNITS.get(unit, '')}"
