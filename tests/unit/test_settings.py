"""What is wrong with the settings is said in the words of the file."""

from __future__ import annotations

import pytest
import yaml

from injector.errors import SettingsError
from injector.settings import Settings, parse_settings
from injector.strict_decoder import decode
from tests.messages import Golden

#: The text of a settings file with a mistake.
MISTAKES = [
    "podDefalt: skip",
    "server: {prt: 1}",
    "namespaceLabel: {zzz: 1}",
    "templates: envoy",
    "namespaceLabel: x",
    "paths: {/x: a}",
    "neverSelector: app=old",
    "replicas: 2",
    "excludedNamespaces: [a]",
    "yesValues: [true]",
    "server: {port: '1'}",
    "server: {port: 99999}",
    "podDefault: Skip",
    "repair: {mode: off}",
    "templatesKey: a/b/c",
    "templatesKey: -x",
    "{prefix: x.org, templatesKey: x.org/inject}",
    "{prefix: x.org, templatesKey: envoy.x.org/image}",
    "statusLabel: a/b/c",
    "{prefix: x.org, statusLabel: x.org/inject}",
    "{prefix: x.org, statusLabel: x.org/templates}",
    "{prefix: x.org, statusLabel: envoy.x.org/image}",
    "statusLabel: injection",
    "paths: {/x: {templates: [a], type: valid}}",
    "paths: {/x: {}}",
    "paths: {/ok: {templates: [a]}, /x: {templates: a}}",
    "paths: {/x: {templates: [], typ: 1}}",
    "paths: {/x: {templates: []}}",
    "paths: [a]",
    "paths: {5: {templates: [a]}}",
    "paths: {x: {templates: [a]}}",
    "paths: {/mutate: {templates: [a]}}",
    "paths: {/a/b: {templates: [a]}, /a-b: {templates: [a]}}",
    "paths: {/-: {templates: [a]}}",
    f"paths: {{/{'a' * 61}: {{templates: [a]}}}}",
    "5",
]


def test_the_name_of_an_entry_has_sixty_characters_at_most() -> None:
    path = f"/{'a' * 60}"
    assert list(parse_settings({"paths": {path: {"templates": ["a"]}}}).paths) == [path]


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes(text: str, golden: Golden) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(yaml.safe_load(text), "settings.yaml")
    golden(str(caught.value))


def test_fields_of_a_mistake_are_values() -> None:
    _, found = decode(Settings, {"server": {"port": "1"}, "namespaceLabel": 5})
    assert {str(one.path[-1]): dict(one.fields) for one in found} == {
        "port": {"value": "1", "allowed": (), "types": ("integer",), "quotes": "remove"},
        "namespaceLabel": {"value": 5, "allowed": (), "types": ("object",), "quotes": ""},
    }


def test_yes_and_no_count_in_any_case() -> None:
    found = parse_settings({"yesValues": ["Ja"], "noValues": ["NEIN"]})
    assert (found.yes_values, found.no_values) == (("ja",), ("nein",))
