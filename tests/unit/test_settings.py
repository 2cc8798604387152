"""What is wrong with the settings is said in the words of the file."""

from __future__ import annotations

import pytest
import yaml

from injector.errors import SettingsError
from injector.settings import parse_settings

#: The text of a settings file, and what is said about it.
MISTAKES = [
    ("podDefalt: skip", "unknown key podDefalt; did you mean podDefault?"),
    ("server: {prt: 1}", "unknown key server.prt; did you mean port?"),
    ("namespaceLabel: {zzz: 1}", "unknown key namespaceLabel.zzz; there are: key, enabled, required, disabled"),
    ("templates: envoy", "templates has to be a list, and is a string"),
    ("namespaceLabel: x", "namespaceLabel has to be a mapping, and is a string"),
    ("yesValues: [true]", "yesValues[0] has to be a string, and is a boolean"),
    ("server: {port: '1'}", "server.port has to be a whole number, and is a string"),
    ("server: {port: 99999}", "server.port has to be at most 65535"),
    ("podDefault: Skip", "podDefault has to be inject or skip or named"),
    ("templatesKey: a/b/c", "templatesKey is no key of an annotation such as sidecar.injector/request"),
    ("templatesKey: -x", "templatesKey is no key of an annotation such as sidecar.injector/request"),
    (
        "{prefix: x.org, templatesKey: x.org/inject}",
        "templatesKey: x.org/inject has a meaning already; choose another",
    ),
    (
        "{prefix: x.org, templatesKey: envoy.x.org/image}",
        "templatesKey: envoy.x.org/... are parameters of a template; choose another",
    ),
    ("paths: {/x: {templates: [a], type: valid}}", "paths./x.type has to be mutating or validating"),
    ("paths: {/x: {}}", "paths./x.templates is missing"),
    ("paths: {/ok: {templates: [a]}, /x: {templates: a}}", "paths./x.templates has to be a list, and is a string"),
    ("paths: {/x: {templates: [], typ: 1}}", "unknown key paths./x.typ; did you mean type?"),
    ("paths: {/x: {templates: []}}", "paths./x.templates is empty; name the templates for what is posted there"),
    ("paths: [a]", "paths has to be a mapping, and is a list"),
    ("paths: {5: {templates: [a]}}", "paths: each key has to be a string; put it in quotes"),
    (
        "paths: {x: {templates: [a]}}",
        "paths.x is no path; write it like /policies/services (letters, digits, - . _ ~ and /)",
    ),
    ("paths: {/mutate: {templates: [a]}}", "paths./mutate is a path of `server` already; choose another"),
    (
        "paths: {/a/b: {templates: [a]}, /a-b: {templates: [a]}}",
        'paths./a-b: its webhook entry would be called "a-b"; choose a path with another: /a/b has the same',
    ),
    (
        "paths: {/-: {templates: [a]}}",
        'paths./-: its webhook entry would be called ""; choose a path with another: that has 1 to 60 characters',
    ),
    ("5", "the file has to be a mapping, and is a whole number"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(yaml.safe_load(text), "settings.yaml")
    assert str(caught.value) == f"settings.yaml: {words}"


def test_yes_and_no_count_in_any_case() -> None:
    found = parse_settings({"yesValues": ["Ja"], "noValues": ["NEIN"]})
    assert (found.yes_values, found.no_values) == (("ja",), ("nein",))
