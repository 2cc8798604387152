"""One replica's answers about pods: `python replica.py KEY DIRECTORY` with a release's code on PYTHONPATH.

The sidecars of its templates start in that directory, so replicas may differ in that. Reads a question as JSON per
line: `do` (inject or guard), `pod`, `templates` of the gallery, the label of the `namespace`. Answers with whether the
pod is allowed, why, and the pod as it is then, as JSON too. It knows nothing of the other tests, as it runs by code
of 0.1.0 as well.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from pathlib import Path
from typing import Any

from injector.inject import guard, inject
from injector.pods.context import Cluster, Namespace
from injector.settings import parse_settings
from injector.templates.snapshot import Snapshot, build_snapshot

try:
    from injector.loading.template_folders import gallery_path, read_gallery
    from injector.webhook.receipt_seals import CertificateSeals
except ImportError:  # 0.1.0
    from injector.webhook.seals import CertificateSeals

    from injector.templates.load import gallery_path, read_gallery


#: The line of an overlay's container that has its image.
_IMAGE = re.compile(r"^( +)image: .*$", re.MULTILINE)
SEALS = CertificateSeals()
SEALS.use(Path(sys.argv[1]).read_bytes())


@functools.cache
def snapshot(*templates: str) -> Snapshot:
    gallery = read_gallery(gallery_path())
    line = rf"\g<0>\n\1workingDir: {sys.argv[2]}"
    sources = {name: {file: _IMAGE.sub(line, text) for file, text in gallery[name].items()} for name in templates}
    return build_snapshot(parse_settings({"templates": list(templates)}), sources, Cluster())


def answer(question: dict[str, Any]) -> dict[str, Any]:
    namespace = Namespace("shop", {"injection": question["namespace"]})
    known = snapshot(*question["templates"])
    seen = {"inject": inject, "guard": guard}[question["do"]](question["pod"], namespace, known, seals=SEALS)
    return {
        "allowed": seen.allowed,
        "reason": str(seen.reason),
        "message": seen.message,
        "generation": known.generation,
        "pod": seen.object,
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
