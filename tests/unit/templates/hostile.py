"""Values that would change a document, a template or a config file if anything took them for text of its own."""

from __future__ import annotations

from itertools import product

_YAML = """
: | :: | - | -- | --- | ... | ? | ! | !! | !replace x | !!python/object:os.system x | & | &a | * | *a | *x | %
%YAML 1.1 | @ | ` | # | # comment | a # b | a: b | a:b | a : b | - a | - - a | ? a | ? a : b | [ | ] | [a]
[a, b] | { | } | {a: b} | {} | [] | , | a, b | " | ' | "" | '' | "a | a" | 'a | a' | \\ | \\n | \\x41
\\u0041 | \\" | "\\" | '"' | "'" | ''' | > | >- | |- | |+ | |2 | = | << | <<: *a | ~ | null | Null | true
True | yes | on | n | off | 0 | 1 | -1 | 0644 | 0o644 | 0x1f | 1e3 | 1.5 | .5 | .inf | .nan | 1:30 | 190:20:30
2001-01-01 | 1_000 | +1 | 12e03
"""
_LINES = (
    "a\nb",
    "a\n  b: c",
    "\n",
    "\n\n",
    "a\n- name: evil\n  image: evil",
    "a\n    - name: evil\n      image: evil:1",
    "a\n  - name: evil\n    image: evil:1",
    "web\n      image: evil",
    "web\"\n    - name: evil\n      image: 'evil",
    "web'\n    - name: evil\n      image: 'evil",
    "a\r\nb: c",
    "a\rb: c",
    "a\u0085b: c",
    "a\u2028b: c",
    "a\u2029- b",
    "\t",
    "\ta: b",
    " a",
    "a ",
    " - a",
    "a\n---\nb",
    "---\nspec: {}",
    "...\n",
    "a\n...\n---\nb: c",
    "x: &a [1]\ny: *a",
    "}\nspec: {containers: [{name: evil, image: evil}]}",
    "]}]}\n- evil",
    "], evil: [",
    '", "evil": "',
    "', 'evil': '",
    '"], "evil": ["',
    "}}, evil: {{a: {b: ",
    "|\n  evil",
    ">\n  evil",
    "\"\n'\n",
    "#\nevil: 1",
    "a\n#",
    "<<: {evil: 1}",
    "\n<<: {evil: 1}",
)
_JINJA = (
    "{{ 7 * 7 }}",
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{% raw %}",
    "{% endraw %}",
    "{% for i in range(9) %}x{% endfor %}",
    "{{ object }}",
    "{{ params.v }}",
    "{{ ''.__class__.__mro__ }}",
    "{% include 'overlay.yaml.j2' %}",
    "{{ deny('x') }}",
    "%(x)s",
    "%s%s%s",
    "{0}",
    "{0.__class__}",
    "${x}",
    "$(x)",
    "$x",
    "`x`",
)
#: The characters that placeholders are made of, whole, broken and nested.
_PLACEHOLDERS = tuple(
    text
    for number in ("0", "1", "2", "99", "00", "-1", "x", "")
    for text in (
        f"\ufdd0{number}\ufdd1",
        f"\ufdd0{number}",
        f"{number}\ufdd1",
        f"a\ufdd0{number}\ufdd1: b",
        f"\ufdd0\ufdd0{number}\ufdd1\ufdd1",
        f"\ufdd2{number}\ufdd3",
    )
)
_CHARACTERS = (
    "",
    " ",
    "\x00",
    "\x01",
    "\x07",
    "\x1b[31m",
    "\x7f",
    "\x9f",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\ue000",
    "\U0010ffff",
    "\u202e",
    "\u00e9",
    "e\u0301",
    "\u65e5\u672c",
    "\U0001f600",
    "\u0661",
    "\uff11",
    "\ud7ff",
    "<b>&amp;</b>",
    "<script>alert(1)</script>",
    "a" * 300,
    "a: " * 500,
    "[" * 1000,
    "{" * 1000,
    "- " * 1000,
    "\n" * 1000,
    '"' * 1001,
    "a" * (1024 * 1024),
)
_WORDS = tuple(value.strip() for line in _YAML.strip().split("\n") for value in line.split(" | ") if value.strip())
_MIXED = tuple(map("".join, product(("", "a", '"', "'"), ("\n- ", ": ", " #", "\n  "), ("b", "b: c", '"'))))

HOSTILE: tuple[str, ...] = tuple(dict.fromkeys((*_WORDS, *_LINES, *_JINJA, *_PLACEHOLDERS, *_CHARACTERS, *_MIXED)))
