"""What an injection refuses is told at the author's line, by `render` and by `test`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.authoring.commands import injector
from tests.messages import Golden

HEAD = "spec:\n  containers:\n  - name: side\n    image: side:1\n"


@pytest.mark.parametrize(
    ("overlay", "place", "message"),
    [
        (
            f"{HEAD}    env:\n    - {{name: PORT, value: {{{{ 16379 }}}}}}\n",
            "6:27",
            "spec.initContainers[side].env[PORT].value: it is 16379; it must be a string; put it in quotes",
        ),
        (
            f"{HEAD}    volumeMounts:\n    - {{name: gone, mountPath: /a}}\n",
            "6:7",
            'spec.initContainers[side].volumeMounts[/a]: there is no volume "gone"; add it to spec.volumes',
        ),
        (
            f"{HEAD}    resources: {{requests: {{cpu: 1 core}}}}\n",
            "5:33",
            'spec.initContainers[side].resources.requests.cpu: "1 core" is not a quantity, such as 250m, 2 or 128Mi;'
            " write 1",
        ),
        (
            'metadata:\n  annotations:\n    prometheus.io/scrape: "true"\n    prometheus.io/port: {{ 9121 }}\n' + HEAD,
            "4:25",
            "metadata.annotations[prometheus.io/port]: it is 9121, which is not a string; put it in quotes",
        ),
    ],
)
def test_a_refusal_is_told_at_the_authors_line(
    tmp_path: Path, overlay: str, place: str, message: str, golden: Golden
) -> None:
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
    help_ = message.partition("; ")[2]
    assert tested.code == 1
    golden(tested.out)
    assert not help_ or f"= {help_}\n" in tested.out
    linted = injector("lint", folder, "--only", "renders", "--only", "schema", "--only", "mount-without-volume")
    told = [words for words in linted.out.splitlines() if ": error: " in words]
    assert [words.partition(": error: ")[0].split(":")[1] for words in told] == [place.partition(":")[0]]


def test_an_item_without_a_name_is_told_at_its_line(tmp_path: Path, golden: Golden) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "template.yaml").write_text("description: x\n")
    (folder / "overlay.yaml.j2").write_text(f"{HEAD}  - image: other:1\n")
    rendered = injector("render", folder)
    assert (rendered.code, rendered.out) == (1, "")
    golden(rendered.err)
