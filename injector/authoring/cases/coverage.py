"""What no case of a template has reached: parameters that all cases left at their defaults, and branches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from injector.authoring.cases.harness import Harness
from injector.authoring.cases.run import CaseResult
from injector.diagnostics import Place
from injector.templates.manifest import manifest_place


@dataclass(frozen=True, slots=True)
class Missed:
    """A parameter or a branch that no case has reached; `what` is for people."""

    what: str
    place: Place


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a template its cases have reached."""

    parameters: int
    branches: int
    missed_parameters: tuple[Missed, ...]
    missed_branches: tuple[Missed, ...]

    @property
    def percent(self) -> float:
        """Of all parameters and branches those that were reached, 0 to 100."""
        everything = self.parameters + self.branches
        missed = len(self.missed_parameters) + len(self.missed_branches)
        return 100.0 if not everything else 100.0 * (everything - missed) / everything

    @property
    def sentence(self) -> str:
        """What is missing, in one line; empty where nothing is."""
        counts = (
            (len(self.missed_parameters), self.parameters, "parameters keep their default in every case"),
            (len(self.missed_branches), self.branches, "branches are never reached"),
        )
        return ", and ".join(f"{missed} of {of} {what}" for missed, of, what in counts if missed)


def coverage_of(bench: Harness, results: Iterable[CaseResult]) -> Coverage:
    """The coverage after cases have run, with these results."""
    template, branches = bench.template, bench.branches
    parameters = frozenset[str]().union(*(result.given for result in results))
    missed = [name for name in template.parameters if name not in parameters]
    return Coverage(
        parameters=len(template.parameters),
        branches=len(set(branches.all.values())),
        missed_parameters=tuple(
            Missed(f"parameter {name}", manifest_place(template, ("parameters", name))) for name in missed
        ),
        missed_branches=tuple(Missed(branch.what, branches.place(branch)) for branch in branches.missed),
    )
