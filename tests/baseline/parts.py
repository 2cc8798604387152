"""All parts of the baseline by name. What makes the cases of one is a generator: ask about each before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tests.baseline import authors, generated, manifests, objects, texts
from tests.baseline.case import Case
from tests.baseline.entrances import gallery

PARTS: dict[str, Callable[[], Iterator[Case]]] = {
    **{f"pods/{name}": partial(generated.with_pods, name) for name in gallery() if name not in objects.AT_PATHS_ONLY},
    **{f"paths/{name}": partial(generated.at_path, name) for name in objects.TEMPLATES},
    "texts/hostile": texts.hostile,
    "corpus/redirect": partial(manifests.corpus, "redirect", "native"),
    "corpus/nginx": partial(manifests.corpus, "nginx", "plain"),
    "golden/cases": manifests.golden,
    "golden/paths": manifests.golden_paths,
    "broken/templates": authors.broken_templates,
    "broken/rules": authors.rules,
    "broken/cases": authors.case_files,
    "broken/settings": authors.settings,
}
