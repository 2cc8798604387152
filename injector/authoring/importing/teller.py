"""What there is to say about a config, collected at its places."""

from __future__ import annotations

from injector.authoring.cases.document import Steps
from injector.authoring.importing.find import Config
from injector.diagnostics import Diagnostic, Severity


class Teller:
    """Collects what there is to say about a config, at its places."""

    def __init__(self, config: Config, problems: list[Diagnostic]) -> None:
        self._config = config
        self._problems = problems
        self.refused = False  #: whether something was an error
        self.inherits = config.folder is not None  #: whether what it inherits from is read

    def tell(
        self,
        steps: Steps,
        message: str,
        *,
        help: str = "",  # noqa: A002
        severity: Severity = "error",
        key: bool = False,
        about: str = "",
    ) -> None:
        """Say what is wrong at a place of the config."""
        self.refused = self.refused or severity == "error"
        at = (*self._config.steps, *steps)
        problem = self._config.source.problem(at, message, help=help, severity=severity, key=key, about=about)
        self._problems.append(problem)

    def warn(self, steps: Steps, message: str, *, help: str = "", about: str = "") -> None:  # noqa: A002
        """Say what will be other than it was written; at the key of a field."""
        self.tell(steps, message, help=help, severity="warning", key=True, about=about)
