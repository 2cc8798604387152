"""What a snapshot is made of, as it lies on disk: the settings file and folders of templates. Read whole or not at all.

A mounted ConfigMap is swapped by a symlink, an editor writes file by file: so files are only taken when nothing about
them changed while they were read, nor in a moment before.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

import yaml

from injector.errors import InjectorError, SettingsError, TemplateError
from injector.loading.template_folders import files_of, fingerprints, gallery_path, read_folder, templates_in
from injector.settings import Settings, parse_settings
from injector.templates.kubernetes_yaml import load_manifest
from injector.templates.load import TemplateSources

#: Seconds for which files must have been at rest before they are read, and after which nobody is amid writing them.
_REST_SECONDS = 0.2
_OLD_SECONDS = 2.0
#: Bytes that a settings file may have: more than fits into a ConfigMap.
_LARGEST_SETTINGS = 2 * 1024 * 1024


class SourceFiles(NamedTuple):
    """The files as they were at one moment. `settings_text` is None without a settings file."""

    settings_text: str | None
    templates: TemplateSources
    origins: Mapping[str, str]  #: the templates' folders, for people

    @property
    def in_folders(self) -> TemplateSources:
        """The templates that do not come with the injector."""
        gallery = gallery_path()
        return {name: files for name, files in self.templates.items() if Path(self.origins[name]).parent != gallery}


class Disk:
    """The settings file (may be None: defaults) and the folders; a later folder's template replaces an earlier one's.

    A folder is a template when it holds a template.yaml, else each of its subfolders that does is one.
    """

    def __init__(self, settings_file: Path | None, folders: tuple[Path, ...]) -> None:
        self._settings_file = settings_file
        self._folders = folders
        self._state: object = None

    def changed(self) -> bool:
        """Whether any file is another than when `read` last came to an end. Blocks for a few stat calls."""
        return self._look() != self._state

    def read(self, attempts: int = 25) -> SourceFiles:
        """All files. Blocks: to be called in a thread.

        Raises SettingsError for a file or folder that cannot be read or files that keep changing, TemplateError
        for a file that cannot be a template's.
        """
        for _ in range(attempts):
            before = self._look()
            if not self._old():
                time.sleep(_REST_SECONDS)
            if self._look() != before:
                continue
            try:
                folders = self._template_folders()
                templates = {name: read_folder(folder) for name, folder in folders.items()}
                files = SourceFiles(
                    self._settings(), templates, {name: str(folder) for name, folder in folders.items()}
                )
            except (OSError, UnicodeDecodeError, InjectorError) as error:
                if self._look() != before:
                    continue
                if isinstance(error, InjectorError):
                    raise
                raise SettingsError(f"settings or templates cannot be read: {error}") from None
            if self._look() == before:
                self._state = before
                return files
        raise SettingsError("settings and templates keep changing while they are read")

    def _settings(self) -> str | None:
        file = self._settings_file
        if file is None:
            return None
        stat = file.stat()
        if not S_ISREG(stat.st_mode) or stat.st_size > _LARGEST_SETTINGS:  # a pipe would block for ever
            raise SettingsError(f"{file}: not a regular file of at most {_LARGEST_SETTINGS} bytes")
        return file.read_text(encoding="utf-8")

    def _template_folders(self) -> dict[str, Path]:
        return {name: path for folder in self._folders for name, path in templates_in(folder).items()}

    def _look(self) -> object:
        fault = ""
        files = [] if self._settings_file is None else [self._settings_file]
        try:
            for folder in self._template_folders().values():
                files += files_of(folder)
        except (OSError, TemplateError) as error:
            fault = str(error)
        return fault, fingerprints(files)

    def _old(self) -> bool:
        """Whether the last change of any file or folder is long ago: by their ctime, which no copying sets back."""
        try:
            folders = list(self._template_folders().values())
            paths = [*self._folders, *folders, *(file for folder in folders for file in files_of(folder))]
            paths += [] if self._settings_file is None else [self._settings_file, self._settings_file.parent]
            return max((path.stat().st_ctime for path in paths), default=0.0) < time.time() - _OLD_SECONDS
        except (OSError, TemplateError):
            return False


def read_settings(text: str | None, source: str) -> Settings:
    """Settings from a file's text; None, for no file, gives the defaults.

    Raises SettingsError naming `source`, line and key; also for a text that says nothing, as one that was cut off.
    """
    try:
        document = load_manifest(text) if text is not None else {}
    except yaml.YAMLError as error:
        raise SettingsError(f"{source}: not YAML: {' '.join(str(error).split())[:300]}") from None
    if document is None:
        raise SettingsError(f"{source}: it is empty; for the default settings write {{}}")
    return parse_settings(document, source)
