"""The corpus: manifests as files, some that are too large for one, and the verdicts on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
FOLDER = HERE / "manifests"

#: Ways to inject: a name, and the options that stand for it.
VARIANTS: dict[str, tuple[str, ...]] = {
    "redirect": ("--templates", "envoy"),
    "ports": ("--templates", "envoy", "--param", "envoy.intercept=ports"),
    "nginx": ("--templates", "nginx"),
}
#: Kubernetes without and with native sidecars, as `nativeSidecars: auto` decides.
VERSIONS = {"plain": "1.30", "native": "1.36"}

#: Each manifest is injected twice, without and with native sidecars and by two of the three ways, which take turns; so
#: each way meets each version equally often. `make soak` injects each manifest by all.
WAYS = tuple((variant, version) for variant in VARIANTS for version in VERSIONS)


def balanced(number: int) -> tuple[tuple[str, str], ...]:
    """Two of WAYS for the manifest of this number."""
    variants = tuple(VARIANTS)
    first, second = variants[number % 3], variants[(number + 1 + number // 3 % 2) % 3]
    return (first, "plain"), (second, "native")


_POD = """apiVersion: v1
kind: Pod
metadata:
  name: large
  annotations:
    note: "{note}"
spec:
  containers:
  - name: a
    image: registry.example/a:1
    ports:
    - containerPort: 80
"""


@dataclass(frozen=True)
class Manifest:
    """A manifest: its name within the corpus, and its bytes."""

    name: str
    data: bytes

    def verdicts(self, variant: str) -> list[str] | None:
        """What must become of its pods, in order; None where all of them (and there are some) must be injected.

        `Error: ...` stands for a manifest that cannot be read, and what is said about it.
        """
        said = _VERDICTS.get(self.name)
        if isinstance(said, dict):
            said = next((text for variants, text in said.items() if variant in variants.split(", ")), None)
        return said if said is None or isinstance(said, list) else [said]


def _large() -> dict[str, str]:
    """Manifests that nobody wants to read."""
    variables = "".join(f'    - name: VARIABLE_{n:04}\n      value: "{n}"\n' for n in range(2000))
    containers = "".join(f'  - name: c{n}\n    image: "registry.example/a:{n}"\n' for n in range(100))
    return {
        "large/variables-2000.yaml": _POD.format(note="") + "    env:\n" + variables,
        "large/containers-100.yaml": _POD.format(note="") + containers,
        # 256 KiB is what all annotations may have together: one leaves room for a sidecar's, one does not.
        "large/annotation-200k.yaml": _POD.format(note="x" * 200_000),
        "large/annotation-255k.yaml": _POD.format(note="x" * 261_500),
        "large/documents-300.yaml": "---\n".join(
            f"# number {n}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n" for n in range(300)
        ),
    }


def _read() -> dict[str, Manifest]:
    files = (path for path in sorted(FOLDER.rglob("*")) if path.is_file())
    found = {str(path.relative_to(FOLDER)): path.read_bytes() for path in files}
    found |= {name: text.encode() for name, text in _large().items()}
    return {name: Manifest(name, data) for name, data in found.items()}


_VERDICTS: dict[str, Any] = yaml.load((HERE / "verdicts.yaml").read_text(), yaml.CSafeLoader)
MANIFESTS = _read()
_nowhere = set(_VERDICTS) - set(MANIFESTS)
if _nowhere:
    raise ValueError(f"verdicts.yaml judges what is not there: {sorted(_nowhere)}")
