"""What is wrong with the settings is said in the words of the file."""

from __future__ import annotations

import pytest
import yaml

from injector.errors import SettingsError
from injector.settings import Settings, parse_settings
from injector.strict_decoder import decode

#: The text of a settings file, and what is said about it.
MISTAKES = [
    ("podDefalt: skip", 'podDefalt: unknown key "podDefalt"; did you mean podDefault?'),
    ("server: {prt: 1}", 'server.prt: unknown key "prt"; did you mean port?'),
    (
        "namespaceLabel: {zzz: 1}",
        'namespaceLabel.zzz: unknown key "zzz"; the keys are: disabled, enabled, key, required',
    ),
    ("templates: envoy", 'templates: a list is needed, and this is a string ("envoy"); write templates: [envoy]'),
    (
        "namespaceLabel: x",
        'namespaceLabel: a mapping is needed, and this is a string ("x"); write namespaceLabel: {key: x}',
    ),
    ("paths: {/x: a}", 'paths[/x]: a mapping is needed, and this is a string ("a"); write /x: {templates: [a]}'),
    (
        "neverSelector: app=old",
        'neverSelector: a mapping is needed, and this is a string ("app=old"); '
        "write neverSelector: {matchLabels: {app: old}}",
    ),
    (
        "replicas: 2",
        'replicas: unknown key "replicas"; it is a chart value, not a setting; put it into the chart\'s values',
    ),
    ("excludedNamespaces: [a]", 'excludedNamespaces: unknown key "excludedNamespaces"; write ignoredNamespaces: [...]'),
    ("yesValues: [true]", "yesValues[0]: a string is needed, and this is a boolean (true); put it in quotes"),
    ("server: {port: '1'}", 'server.port: an integer is needed, and this is a string ("1"); write it without quotes'),
    ("server: {port: 99999}", "server.port: 99999 is out of bounds; it has to be at least 0 and at most 65535"),
    ("podDefault: Skip", 'podDefault: "Skip" is not allowed; did you mean skip?'),
    (
        "templatesKey: a/b/c",
        "templatesKey: it is not a valid annotation key; write one such as sidecar.injector/request",
    ),
    ("templatesKey: -x", "templatesKey: it is not a valid annotation key; write one such as sidecar.injector/request"),
    (
        "{prefix: x.org, templatesKey: x.org/inject}",
        "templatesKey: the injector already uses x.org/inject for something else; choose another",
    ),
    (
        "{prefix: x.org, templatesKey: envoy.x.org/image}",
        "templatesKey: an annotation envoy.x.org/... sets a parameter of a template; choose another key",
    ),
    ("paths: {/x: {templates: [a], type: valid}}", 'paths[/x].type: "valid" is not allowed; did you mean validating?'),
    ("paths: {/x: {}}", "paths[/x]: templates is missing"),
    (
        "paths: {/ok: {templates: [a]}, /x: {templates: a}}",
        'paths[/x].templates: a list is needed, and this is a string ("a"); write templates: [a]',
    ),
    ("paths: {/x: {templates: [], typ: 1}}", 'paths[/x].typ: unknown key "typ"; did you mean type?'),
    (
        "paths: {/x: {templates: []}}",
        "paths[/x].templates: the list is empty; list the templates for the objects that are sent to this path",
    ),
    (
        "paths: [a]",
        "paths: a mapping is needed, and this is a list; write paths: {a: {templates: ...}}",
    ),
    ("paths: {5: {templates: [a]}}", "paths: the key 5 is not a string; put it in quotes"),
    (
        "paths: {x: {templates: [a]}}",
        "paths.x: it is not a path; write it like /policies/services (letters, digits, - . _ ~ and /)",
    ),
    ("paths: {/mutate: {templates: [a]}}", "paths[/mutate]: it is already a path of `server`; choose another"),
    (
        "paths: {/a/b: {templates: [a]}, /a-b: {templates: [a]}}",
        'paths[/a-b]: the webhook entry of this path would be called "a-b", like that of /a/b; choose another',
    ),
    (
        "paths: {/-: {templates: [a]}}",
        'paths[/-]: the webhook entry of this path would be called "", but a name has 1 to 60 characters; choose '
        "another",
    ),
    (
        f"paths: {{/{'a' * 61}: {{templates: [a]}}}}",
        f'paths[/{"a" * 61}]: the webhook entry of this path would be called "{"a" * 61}", but a name has 1 to 60 '
        "characters; choose another",
    ),
    ("5", "a mapping is needed, and this is a number (5)"),
]


def test_the_name_of_an_entry_has_sixty_characters_at_most() -> None:
    path = f"/{'a' * 60}"
    assert list(parse_settings({"paths": {path: {"templates": ["a"]}}}).paths) == [path]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes(text: str, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(yaml.safe_load(text), "settings.yaml")
    assert str(caught.value) == f"settings.yaml: {words}"


def test_fields_of_a_mistake_are_values() -> None:
    _, found = decode(Settings, {"server": {"port": "1"}, "namespaceLabel": 5})
    assert {str(one.path[-1]): dict(one.fields) for one in found} == {
        "port": {"value": "1", "allowed": (), "types": ("integer",)},
        "namespaceLabel": {"value": 5, "allowed": (), "types": ("object",)},
    }


def test_yes_and_no_count_in_any_case() -> None:
    found = parse_settings({"yesValues": ["Ja"], "noValues": ["NEIN"]})
    assert (found.yes_values, found.no_values) == (("ja",), ("nein",))
