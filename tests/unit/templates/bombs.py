"""Templates that would take all the time, memory or room there is, if nothing stopped them."""

from __future__ import annotations

OVERLAY = "spec:\n  containers:\n  - name: x\n    image: x:1\n"
MANIFEST = "description: A bomb.\n"

Files = dict[str, str]


def _overlay(text: str, **more: str) -> Files:
    return {"template.yaml": MANIFEST, "overlay.yaml.j2": text, **more}


def _parameter(schema: str, overlay: str = OVERLAY) -> Files:
    return {"template.yaml": f"parameters:\n  p: {schema}\n", "overlay.yaml.j2": overlay}


def _growing(start: str, step: str, times: int) -> Files:
    """A macro that calls itself with ever larger values."""
    macro = "{% macro m(s, n) %}{% if n %}{{ m(STEP, n - 1) }}{% else %}{{ s }}{% endif %}{% endmacro %}\n"
    return _overlay(macro.replace("STEP", step) + f'a: "{{{{ m({start}, {times}) }}}}"\n')


def _aliases(value: str) -> str:
    lines = [f"a0: &a0 {value}"]
    lines += [f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)]
    return "\n".join(lines) + "\n"


BOMBS: dict[str, Files] = {
    # memory
    "strings": _growing('"aaaaaaaa"', "s ~ s", 60),
    "lists": _growing("[1, 2, 3, 4]", "s + s", 40),
    "lists-within-lists": _growing("[1]", "[s, s]", 60),
    "mappings-within-mappings": _growing("[1]", '{"a": s, "b": s}', 60),
    "set-blocks": _overlay(
        "{% set a %}" + "a" * 64 + "{% endset %}\n" + "{% set a %}{{ a }}{{ a }}{% endset %}\n" * 60 + "a: {{ a }}\n"
    ),
    "replaced": _overlay('{% for a in range(99) %}{{ ("a" * 100000) | replace("a", "bbbbbbbbbbbb") }}{% endfor %}\n'),
    "aliases": _overlay(_aliases("[x, x, x, x, x, x, x, x, x]")),
    "aliases-of-holes": _overlay(_aliases('["{{ "x" * 1000 }}"]')),
    "aliases-in-template.yaml": {
        "template.yaml": _aliases("[x, x, x, x, x, x, x, x, x]"),
        "overlay.yaml.j2": OVERLAY,
    },
    "many-expressions": _overlay('a: "' + "{{ 1 }}" * 140_000 + '"\n'),
    "many-constants": _overlay("a: {{ [" + "1," * 200_000 + "] | length }}\n"),
    "long-number": _overlay("a: {{ " + "9" * 500_000 + " }}\n"),
    "infinite-number": _overlay("a: {{ 1e999 }}\n"),
    "long-name": _overlay("a: {{ " + "a" * 900_000 + " }}\n"),
    "long-key": _overlay('a: {"' + " " * 900_000 + '": b}\n'),
    "long-hole": _overlay("a: {{ a" + " " * 900_000 + "b }}\n"),
    # time
    "loops": _overlay("{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3 + "\n"),
    "loops-with-bodies": _overlay(
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ [a, b] | sort | first }}{% endfor %}{% endfor %}\n"
    ),
    "comparisons": _overlay(
        "{% set x = range(9999) | list %}{% for a in x %}{% if a not in x or x == x %}{% endif %}{% endfor %}\n"
    ),
    "unique": _overlay(
        '{% for a in range(200) %}{{ range(9999) | map("string") | unique | list | length }}{% endfor %}\n'
    ),
    "macro-that-doubles": _overlay(
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}\na: {{ m(60) }}\n"
    ),
    "include-that-doubles": _overlay(
        '{% include "_0.j2" %}\n',
        **{f"_{n}.j2": f'{{% include "_{n + 1}.j2" %}}' * 2 if n < 40 else "a" for n in range(41)},
    ),
    "include-chain": _overlay(
        '{% include "_0.j2" %}\n',
        **{f"_{n}.j2": f'{{% include "_{n + 1}.j2" %}}' if n < 4000 else "a" for n in range(4001)},
    ),
    "pattern": _parameter("{type: string, pattern: '^(?=(a+)+$)', default: " + "a" * 50 + "b}"),
    "pattern-of-keys": _parameter(
        "{type: object, propertyNames: {pattern: '^(?=(a+)+$)'}, default: {" + "a" * 50 + "b: 1}}"
    ),
    "pattern-large": _parameter("{type: string, pattern: '" + "(a|b)*" * 50_000 + "'}"),
    "pattern-repeat": _parameter("{type: string, pattern: 'a{99999999999999999999}'}"),
    # output
    "output": _overlay('a:\n{% for a in range(9999) %}\n- "' + "x" * 500 + '"\n{% endfor %}\n'),
    "output-of-a-text-file": {
        "template.yaml": "files: {x.conf: {}}\n",
        "overlay.yaml.j2": OVERLAY,
        "x.conf.j2": "{% for a in range(9999) %}" + "x" * 200 + "{% endfor %}",
    },
    "many-values": _overlay("a:\n{% for a in range(9999) %}\n- [" + "1," * 15 + "]\n{% endfor %}\n"),
    "many-keys": _overlay("{" + ", ".join(f"k{n}: 1" for n in range(60_000)) + "}\n"),
    "many-holes": _overlay("a:\n" + "- {{ params }}\n" * 50_000),
    "default-twice": _parameter(
        "{type: string, default: " + "x" * 900_000 + "}", OVERLAY + "    args: [{{ params.p }}, {{ params.p }}]\n"
    ),
    # recursion
    "macro-of-itself": _overlay("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}\n"),
    "include-of-itself": _overlay('{% include "overlay.yaml.j2" %}\n'),
    "import-cycle": _overlay(
        '{% import "_a.j2" as a %}\n',
        **{"_a.j2": '{% import "_b.j2" as b %}', "_b.j2": '{% import "_a.j2" as a %}'},
    ),
    "brackets": _overlay("a: {{ " + "(" * 5000 + "1" + ")" * 5000 + " }}\n"),
    "blocks": _overlay("{% if native %}" * 3000 + "{% endif %}" * 3000 + "\n"),
    "loops-within-loops": _overlay("{% for a in ports %}" * 60 + "{% endfor %}" * 60 + "\n"),
    "attributes": _overlay("a: {{ object" + ".a" * 20_000 + " }}\n"),
    "sums": _overlay("a: {{ 1" + " + 1" * 50_000 + " }}\n"),
    "filters": _overlay('a: {{ "a"' + " | upper" * 20_000 + " }}\n"),
    "conditions": _overlay("a: {{ " + "1 if native else " * 20_000 + "1 }}\n"),
    "elifs": _overlay("{% if native %}" + "{% elif native %}" * 20_000 + "{% endif %}\n"),
    "unclosed": _overlay("{{ " * 100_000),
    "flow-lists": _overlay("a: " + "[" * 100_000),
    "flow-mappings": _overlay("a: " + "{a: " * 50_000),
    "dashes": _overlay("- " * 50_000 + "\n"),
    "pattern-deep": _parameter("{type: string, pattern: '" + "(" * 5000 + ")" * 5000 + "'}"),
    "schema-deep": _parameter("{type: array, default: [[1]], " + "anyOf: [{" * 90 + "}]" * 90 + "}"),
}
