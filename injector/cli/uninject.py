"""`injector uninject`: takes out of manifests what `injector inject`, or the webhook, put in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.inputs import with_files
from injector.cli.options import EXISTING_FILE, REPORT_OPTION, STRICT_OPTION, as_one, option, with_options
from injector.cli.results import RESULT_OPTIONS, Result, ResultOptions

if TYPE_CHECKING:
    from injector.cli.documents import Document
    from injector.pods.context import Object


@click.command()
@with_files()
@option("--settings settings_file", "FILE", "The settings of the injector that added the sidecars.", type=EXISTING_FILE)
@with_options(*RESULT_OPTIONS)
@STRICT_OPTION
@REPORT_OPTION
@as_one(ResultOptions, "to")
def uninject(files: tuple[str, ...], settings_file: Path | None, to: ResultOptions, strict: bool, form: str) -> int:
    """Remove the sidecars from manifests.

    FILE is a file, a folder, a URL, or - for standard input; YAML or JSON. The receipt on the pod lists what an
    injection added. The command removes this, restores replaced values, and removes the ConfigMaps of the injection.
    Running pods do not change: apply the result, or restart the workload without injection.
    """
    from injector.cli.documents import read_manifests
    from injector.cli.injection_sources import load_settings
    from injector.cli.manifest_objects import edit, metadata_of, objects_in
    from injector.cli.pod_remarks import foreign_receipt, lost_receipt
    from injector.cli.report import Report, line_for
    from injector.inject import uninject as uninject_pod
    from injector.pods.delivery import uses_config_map
    from injector.pods.patch import same
    from injector.pods.workloads import pod_template, with_pod_template

    settings = load_settings(settings_file)
    documents = read_manifests(files)
    result = Result(to, documents, files)
    report = Report(strict=strict, in_place=to.in_place)

    def is_generated(obj: Object) -> bool:
        labels = metadata_of(obj).get("labels")
        return obj.get("kind") == "ConfigMap" and isinstance(labels, dict) and settings.generated_label in labels

    generated = {metadata_of(obj).get("name") for obj in objects_in(documents) if is_generated(obj)}

    def change(obj: Object, document: Document) -> list[Object] | None:
        if is_generated(obj):
            report.lines.append(line_for(obj, "", "dropped", document.place))
            return []
        pod = pod_template(obj)
        if pod is None:
            report.others += 1
            return None
        if lost := lost_receipt(pod, settings):
            report.lines.append(line_for(obj, "", "failed", document.place, message=lost))
            return None
        before = uninject_pod(pod, settings)
        if not same(before, pod):
            report.lines.append(line_for(obj, "", "uninjected", document.place))
            return [with_pod_template(obj, before)]
        fault = next(iter(foreign_receipt(pod, settings)), "")
        mounted = next((str(name) for name in generated if uses_config_map(pod, str(name))), "")
        if mounted and not fault:
            fault = (
                f"it mounts configmap/{mounted}, which an earlier injection created, but the pod has no receipt "
                "(the annotation that says what the injection added); use the unchanged output of injector inject, "
                "or the file from before the injection"
            )
        line = line_for(obj, "", "failed" if fault else "unchanged", document.place, message=fault or "not injected")
        report.lines.append(line)
        return None

    result.take(report.following(edit(documents, change)))
    return result.finish(report, form)
