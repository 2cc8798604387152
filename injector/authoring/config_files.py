"""The config files that come with an injection, wherever they are delivered."""

from __future__ import annotations

from injector.injection import Injection
from injector.pods.delivery import file_annotation
from injector.settings import Settings


def config_files(injection: Injection, settings: Settings) -> dict[str, dict[str, str]]:
    """The texts of config files, by template and file: those of ConfigMaps, and those of annotations.

    A template without any is left out.
    """
    found: dict[str, dict[str, str]] = {}
    for applied in injection.applied:
        name = applied.template.name
        texts = {file: text for generated in applied.files for file, text in generated.data.items()}
        annotations = (applied.overlay.get("metadata") or {}).get("annotations") or {}
        for file in applied.template.files:
            key = file_annotation(name, file, settings)
            if file not in texts and isinstance(annotations.get(key), str):
                texts[file] = annotations[key]
        if texts:
            found[name] = texts
    return found
