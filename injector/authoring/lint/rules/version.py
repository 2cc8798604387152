"""The rule about next versions."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from injector.authoring.lint.subject import Finding, Findings, Subject
from injector.errors import TemplateError
from injector.loading.shipped import load_shipped
from injector.loading.template_folders import find_gallery, gallery_path, read_folder
from injector.templates.manifest import manifest_place
from injector.templates.template import MANIFEST, VERSION_KEYS
from injector.templates.versions import version_problems

SEVERITY = "warning"


def version(subject: Subject) -> Findings:
    """A template is the next version of one that is not there, that has another, or that has more parameters.

    `version-of` names a template in a folder beside this one, or in the gallery. Pods that set a parameter which the
    next version lacks get a warning instead of the value.

    Source: docs/versions.md.

    Bad:
        # template.yaml
        description: A tool.
        version-of: ngnix
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1

    Good:
        # template.yaml
        description: A tool.
        version-of: always-pull-images

    Proof: the injector warns of the same when it loads the template.
    """
    if subject.template.stage is None:
        return
    beside = find_gallery(Path(subject.path).resolve().parent)
    folders = {**find_gallery(gallery_path()), **beside}
    related = [subject.template]
    for name, folder in folders.items():
        with suppress(TemplateError):
            texts = read_folder(folder)
            if name == subject.template.name or VERSION_KEYS[0] in texts[MANIFEST]:
                related.append(load_shipped(name, texts))
    for problem in version_problems({t.own_name: t for t in reversed(related)}.values()):
        if problem.fields["template"] == subject.template.own_name:
            yield Finding(problem.message, manifest_place(subject.template, problem.path, key=False), **problem.fields)
