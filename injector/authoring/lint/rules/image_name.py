"""An image's name is not a valid image reference.

The rule checks the images that the template renders with its defaults. A reference has the form
`[host[:port]/]name[:tag][@digest]`, with a name in small letters. To check the values of a parameter in the same way,
declare `format: image`.

Why: the API server accepts any text as an image, but the kubelet does not: the sidecar stays in the state
InvalidImageName, and the app, which waits for the sidecar, never starts.
https://github.com/distribution/reference/blob/main/reference.go

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: $registry/tool:1.2.3

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: registry.example:5000/tool:1.2.3

Proof: the kubelet reads the name, and a control plane without nodes has no kubelet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from injector.authoring.lint.rules._values import usual
from injector.authoring.lint.subject import Finding, Subject
from injector.names import shortened
from injector.templates.parameter_keywords import FORMATS

SEVERITY = "error"

#: A tag behind a tag; a port is followed by a slash.
_TWO_TAGS = re.compile(r":[\w.-]+:[\w.-]+\Z")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each image."""
    form = FORMATS["image"]
    for rendering in usual(subject):
        for path, container in (*rendering.containers(), *rendering.everywhere()):
            image = container.get("image")
            if isinstance(image, str) and image and not form.allows(image):
                yield Finding(
                    f"image {shortened(image, 80)} is not an image reference",
                    rendering.overlay.place((*path, "image")),
                    "it has two tags; write one"
                    if _TWO_TAGS.search(image)
                    else f"write {form.words}; to check a parameter for this, set `format: image`",
                )
