"""What becomes of manifests that a command changes: standard output has them, or their files, or they are only told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from injector.cli.options import flag

if TYPE_CHECKING:
    from injector.cli.documents import Document
    from injector.cli.report import Report

RESULT_OPTIONS = (
    flag("--in-place", "Write the result back to each FILE, and nothing to standard output."),
    flag("--diff", "Print what would change in each FILE, and write nothing."),
    flag("--check", "Write nothing; exit with 1 where a FILE would change."),
    flag("--summary", "Only report what becomes of each object and why; write no manifests."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """What `RESULT_OPTIONS` say."""

    in_place: bool = False
    diff: bool = False
    check: bool = False
    summary: bool = False

    @property
    def only_told(self) -> bool:
        """Whether no manifest is written at all."""
        return self.diff or self.check or self.summary


class Result:
    """What a command makes of its inputs: `take` it, then `finish`. `files` are the arguments of the command.

    Raises click.UsageError for options that contradict each other or the inputs.
    """

    def __init__(self, options: ResultOptions, documents: Sequence[Document], files: Sequence[str]) -> None:
        if options.in_place and options.only_told:
            raise click.UsageError(
                "--in-place writes files, but --diff, --check and --summary write none. Leave --in-place out, or use "
                "it alone."
            )
        streams = [document.source for document in documents if not Path(document.source).is_file()]
        if options.in_place and streams:
            raise click.UsageError(f"--in-place writes files, and {streams[0]} is not a file.")
        self._options, self._documents, self._files = options, documents, files
        self._output: dict[str, str] | IO[bytes] = {}

    def take(self, edited: Iterable[Document]) -> None:
        """Keep the documents as they are now, until all of them are known to be good. Raises DocumentError."""
        from injector.cli.documents import document_stream, spooled, texts_by_source

        if self._options.in_place or self._options.only_told:
            # an input of which nothing is left is empty
            self._output = dict.fromkeys((document.source for document in self._documents), "") | texts_by_source(
                edited
            )
        else:
            as_json = all(document.json for document in self._documents)
            self._output = spooled(document_stream(edited, as_json=as_json))

    def finish(self, report: Report, form: str) -> int:
        """Write, tell, and return the exit code: 1, and nothing is written, where something failed.

        Raises DocumentError.
        """
        from injector.cli.documents import texts_by_source, write_manifests

        options, output = self._options, self._output
        if isinstance(output, dict):
            before = texts_by_source(self._documents)
            changed = [name for name in before if output[name] != before[name]]
            if options.in_place and not report.failed:
                self._write({name: output[name] for name in changed})
            report.show(form, summary=options.summary)
            return 1 if report.failed else self._compare(before, output, changed)
        report.show(form)
        if not report.failed:
            write_manifests(output)
        return int(report.failed)

    def _write(self, texts: dict[str, str]) -> None:
        """Write the inputs that differ, all or none. Raises DocumentError, also for a link that leads out of its
        folder.
        """
        from injector.authoring.output_files import write_files
        from injector.errors import DocumentError

        folders = [Path(file) for file in self._files if Path(file).is_dir()]
        changed = {}
        for name, text in texts.items():
            file = Path(name).resolve()
            of = [folder for folder in folders if Path(name).is_relative_to(folder)]
            if of and not any(file.is_relative_to(folder.resolve()) for folder in of):
                reason = f"{name} is a link to {file}, outside of {of[0]}; nothing was written"
                raise DocumentError(f"{reason}. To change that file, name it")
            changed[file] = (text.encode(), file.stat().st_mode & 0o777)
        try:
            write_files(changed)
        except OSError as error:
            raise DocumentError(f"{error.filename}: {error.strerror}; nothing was written") from None

    def _compare(self, before: dict[str, str], after: dict[str, str], changed: Sequence[str]) -> int:
        """Show or tell of the inputs that differ; the exit code."""
        from injector.cli.report import file_difference, show_difference

        for name in changed:
            if self._options.diff:
                show_difference(file_difference(before[name], after[name], name))
            if self._options.check:
                command = click.get_current_context().info_name
                click.echo(f"{name} would change: run injector {command} --in-place", err=True)
        return int(self._options.check and bool(changed))
