"""Golden files of a copied template: they hold its name, and names made from hashes, so they are made anew."""

from __future__ import annotations

import contextlib
from pathlib import Path

from injector.authoring.cases.bench import Bench, CaseError
from injector.authoring.cases.golden import golden_problem
from injector.authoring.cases.suite import read_suite


def write_goldens(folder: Path) -> None:
    """Write the golden file of each case that has one. A case that cannot be run will say so when it is.

    Raises DocumentError for a file that cannot be written, TemplateError for a template that does not load.
    """
    bench = Bench(folder, str(folder))
    for checked in read_suite(folder, str(folder)).cases:
        if checked.case.expect.golden is not None:
            with contextlib.suppress(CaseError):
                golden_problem(checked, bench.run(checked), bench.folder, update=True)
