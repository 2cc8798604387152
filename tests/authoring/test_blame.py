"""What an injection refuses is told at the author's line, by `render` and by `test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.authoring.commands import injector

HEAD = "spec:\n  containers:\n  - name: side\n    image: side:1\n"


@pytest.mark.parametrize(
    ("overlay", "place", "message"),
    [
        (
            f"{HEAD}    env:\n    - {{name: PORT, value: {{{{ 16379 }}}}}}\n",
            "6:27",
            "spec.initContainers[side].env[PORT].value is 16379; it must be a string; put it in quotes",
        ),
        (
            f"{HEAD}    volumeMounts:\n    - {{name: gone, mountPath: /a}}\n",
            "6:5",
            'spec.initContainers[side].volumeMounts: there is no volume "gone"; add it to spec.volumes',
        ),
        (
            f"{HEAD}    resources: {{requests: {{cpu: 1 core}}}}\n",
            "5:33",
            "spec.initContainers[side].resources.requests.cpu: '1 core' is no quantity, such as 250m, 2 or 128Mi",
        ),
    ],
)
def test_a_refusal_is_told_at_the_authors_line(tmp_path: Path, overlay: str, place: str, message: str) -> None:
    folder = tmp_path / "mine"
    (folder / "tests").mkdir(parents=True)
    (folder / "template.yaml").write_text("description: x\n")
    (folder / "overlay.yaml.j2").write_text(overlay)
    (folder / "tests/a.yaml").write_text("cases:\n- {name: a, expect: {decision: injected}}\n")
    line = f"{folder}/overlay.yaml.j2:{place}: error: "
    rendered = injector("render", folder)
    assert (rendered.code, rendered.out) == (1, "")
    assert rendered.err.startswith(f"{line}invalid-pod: {message} [invalid-pod]\n")
    assert rendered.err.rstrip().endswith("^")
    tested = injector("test", folder)
    assert (tested.code, f"\n{line}{message} [invalid-pod]\n" in tested.out) == (1, True)
