"""The reference of templates that are for a path: what they are for, what they add, and how the settings list them."""

from __future__ import annotations

import pytest

from injector.authoring.reference import reference
from injector.authoring.template_summary import as_a_path, covered_words
from injector.settings import parse_settings
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import load_template
from injector.templates.template import Template
from tests.messages import Golden

FOR = "for: {apiGroups: ['', apps], resources: [services, deployments], operations: [CREATE, UPDATE, DELETE]}\n"


def made(manifest: str, overlay: str) -> Template:
    return load_template("mine", {"template.yaml": manifest, "overlay.yaml.j2": overlay})


def test_one_that_completes_objects(golden: Golden) -> None:
    text = reference(
        made(
            f"{FOR}parameters: {{team: {{type: string, default: web, description: Whose it is.}}}}\n"
            "namespaces: {matchLabels: {a: b}}\nselector: {matchLabels: {c: d}}\n",
            "{% if operation != 'DELETE' %}\nmetadata: {labels: {team: {{ params.team }}}}\n"
            "spec: {list: [1]}\n{% endif %}",
        )
    )
    golden(text)
    covered = "- `services` and `deployments` of the core group and `apps` (v1), on CREATE, UPDATE and DELETE.\n"
    assert covered in text
    golden(text)
    assert "hostNetwork" not in text and "pod" not in text


@pytest.mark.parametrize(
    "overlay",
    [
        "{% if operation == 'DELETE' %}{{ deny('no') }}{% endif %}",
        "{{ deny('no') }}",
        "# Why.\n{% macro name() %}x{% endmacro %}{% set a = name() %}{% if a %}{{ warn(a) }}{% endif %}\n{}\n",
    ],
)
def test_one_that_only_judges_is_listed_at_a_validating_path(overlay: str) -> None:
    template = made(FOR, overlay)
    judges = "Nothing: the template lets an object through, warns or refuses it."
    assert judges in reference(template)
    settings = parse_settings(load_manifest(as_a_path(template)))
    assert settings.paths["/validate/mine"].type == "validating"


@pytest.mark.parametrize(
    "overlay",
    [
        "{% if object.spec.rare | default('') %}\nspec: {mode: plain}\n{% endif %}",
        "{% for item in object.spec.rare | default([]) %}\nspec: {mode: {{ item }}}\n{% endfor %}",
        "{% macro mode() %}spec: {a: b}{% endmacro %}{% if object.spec.rare | default('') %}{{ mode() }}{% endif %}",
        "{% set more = object.spec.rare | default({}) %}{{ more }}",
    ],
)
def test_one_that_completes_what_no_sample_has_is_listed_at_a_mutating_path(overlay: str, golden: Golden) -> None:
    template = made(FOR, overlay)
    golden(as_a_path(template))
    golden(reference(template))


def test_what_it_adds_is_not_known_without_its_parameters(golden: Golden) -> None:
    needed = 'parameters: {a: {type: string, pattern: "^[0-9]{9}$", required: true, description: A.}}\n'
    golden(reference(made(FOR + needed, "spec: {a: {{ params.a }}}\n")))


def test_one_for_pods_at_a_path_too_is_still_one_for_injection(golden: Golden) -> None:
    template = made("for: {operations: [CREATE, DELETE]}\n", "metadata: {labels: {a: b}}\n")
    golden(reference(template))
    golden(covered_words(template.applies_to))
