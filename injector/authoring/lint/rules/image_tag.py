"""An image has no tag, or the tag `latest`.

For Kubernetes, an image without a tag has the tag `latest`. The rule checks the defaults of parameters, and not the
values that a user sets.

Why: with `latest`, two pods of one Deployment may run different versions, a restart may bring a new version, and a
rollback does not bring back the old one. With this tag, `imagePullPolicy` is Always by default, so the kubelet asks the
registry at each start, and no pod starts while the registry is down.
https://kubernetes.io/docs/concepts/containers/images/

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: registry.example:5000/tool

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: tool
        image: registry.example:5000/tool:1.2.3
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject

SEVERITY = "warning"


def check(subject: Subject) -> Iterator[Finding]:
    """Images without a version."""
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            image = container.get("image")
            if not isinstance(image, str) or not image or image in rendering.given.values():
                continue
            fault = _wrong(image)
            if fault:
                yield Finding(
                    f"image {image} {fault}", rendering.overlay.place((*path, "image")), "name a version, or a digest"
                )


def _wrong(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return ""
    tag = name.partition(":")[2]
    if not tag:
        return "has no tag, which means latest"
    return "has the tag latest, which can refer to a different image later" if tag == "latest" else ""
