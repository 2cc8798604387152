"""A file mode of a volume is a decimal number, and its author probably meant an octal one.

`defaultMode: 400` is the mode 0620: the group may write the file. YAML reads a number as octal only if it begins with a
zero, so write 0400. The rule does not report a decimal number that is a usual mode, such as 420, which is 0644.

Source: Kubernetes docs, "Secrets": in YAML you can write a mode in octal or in decimal, in JSON only in decimal.

Bad:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-key, mountPath: /key, readOnly: true}
      volumes:
      - name: shipper-key
        secret: {secretName: shipper, defaultMode: 400}

Good:
    # overlay.yaml.j2
    spec:
      containers:
      - name: shipper
        image: example.com/shipper:1.2
        volumeMounts:
        - {name: shipper-key, mountPath: /key, readOnly: true}
      volumes:
      - name: shipper-key
        secret: {secretName: shipper, defaultMode: 0400}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.diagnostics import Path
from injector.pods.constraints.volumes import meant_mode

SEVERITY = "error"


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each mode."""
    for rendering in subject.renderings:
        for path, volume in rendering.volumes():
            for steps, mode in _modes(volume, path):
                if octal := meant_mode(mode):
                    message = f"{steps[-1]} {mode} is {oct(mode).replace('o', '')} in octal"
                    yield Finding(message, rendering.overlay.place(steps), f"write {octal}")


def _modes(value: object, path: Path) -> Iterator[tuple[Path, int]]:
    """The modes in a volume, with their paths."""
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in held:
        if step in ("defaultMode", "mode") and type(inner) is int and inner <= 0o777:
            yield (*path, step), inner
        else:
            yield from _modes(inner, (*path, step))
