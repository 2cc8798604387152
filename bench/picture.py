"""A bar chart as SVG; a few bars need no plotting library."""

from __future__ import annotations

from xml.sax.saxutils import escape


def bars(title: str, values: list[tuple[str, float]]) -> str:
    """An SVG document with one horizontal bar a value, its figure beside it and its ratio to the first."""
    longest, first = max(value for _, value in values), values[0][1]
    height, left = 60 + 44 * len(values), 30 + round(7.2 * max(len(name) for name, _ in values))
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
