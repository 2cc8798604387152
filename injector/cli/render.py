"""`injector render`: what a template makes of a pod, before anything is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from injector.cli.dump import dump_yaml
from injector.cli.manifests import read_manifests
from injector.cli.objects import namespaces_in, objects_in
from injector.cli.sources import NAMESPACE_OPTIONS, OPTIONS, gather, with_options
from injector.errors import DocumentError
from injector.inject import inject as inject_pod
from injector.injection import Applied
from injector.pods.context import Object
from injector.pods.delivery import uses_config_map
from injector.pods.workloads import pod_template, workload_of_object
from injector.reasons import Effect

#: Whom a template is rendered for when no pod is given: an ordinary Deployment.
_SAMPLE: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 8080}]}]},
        }
    },
}


@click.command()
@click.argument("template")
@click.option("--pod", "file", metavar="FILE", help="Manifest with a pod, or -. Default: a Deployment with port 8080.")
@with_options(OPTIONS, NAMESPACE_OPTIONS)
def render(
    template: str,
    file: str | None,
    templates_dirs: tuple[Path, ...],
    settings_file: Path | None,
    version: tuple[int, int] | None,
    params: tuple[str, ...],
    namespace: str | None,
    namespace_labels: dict[str, str],
    namespace_annotations: dict[str, str],
) -> int:
    """Show what TEMPLATE makes of a pod.

    Prints the overlay and then each config file, every one under a comment that names it. TEMPLATE is the name of one
    in the gallery or in --templates-dir, or a folder. --param needs no template's name here: --param app-port=8080.
    """
    folder = Path(template)
    if folder.is_dir() and (template in (".", "..") or "/" in template):
        templates_dirs, template = (*templates_dirs, folder), folder.resolve().name
    sources = gather(templates_dirs, settings_file, version, params, template=template)
    if sources.snapshot.catalog.get(template) is None and (folder / "template.yaml").is_file():
        raise DocumentError(f"no template {template}; the folder of this name is ./{template}")
    obj, objects = _pod(file)
    namespaces = namespaces_in(objects, sources.settings, namespace, namespace_labels, namespace_annotations)
    pod = pod_template(obj)
    assert pod is not None  # noqa: S101
    result = inject_pod(
        pod,
        namespaces.of(obj),
        sources.snapshot,
        names=[template],
        overrides=sources.overrides,
        workload=None if pod is obj else workload_of_object(obj),
    )
    if not result.applied:
        verdict = "skipped" if result.effect is Effect.SKIP else "failed"
        click.echo(f"{template}: {verdict}: {result.message}", err=True)
        return 1
    for warning in (*result.warnings, *_unmounted(result.applied)):
        click.echo(f"{click.style('warning', fg='yellow')}: {warning}", err=True)
    for applied in result.applied:
        click.echo(f"# overlay of {applied.template.name}\n{dump_yaml(applied.overlay)}", nl=False)
        for generated in applied.files:
            for name, text in generated.data.items():
                click.echo(f"---\n# {name}, in ConfigMap {generated.name}\n{text}", nl=not text.endswith("\n"))
    return 0


def _unmounted(applied: Iterable[Applied]) -> Iterator[str]:
    """ConfigMaps that an overlay does not use: they are not created, so the files in them get nowhere."""
    for one in applied:
        for generated in one.files:
            if not uses_config_map(one.overlay, generated.name):
                yield (
                    f"{', '.join(generated.data)}: no volume of the overlay takes its files from "
                    '`configMap: {name: "{{ files.configmap }}"}`, so no container sees them'
                )


def _pod(file: str | None) -> tuple[Object, list[Object]]:
    """The one object with a pod of a file, and all objects of it."""
    if file is None:
        return _SAMPLE, []
    documents = read_manifests([file])
    objects = list(objects_in(documents))
    found = [o for o in objects if pod_template(o) is not None]
    if len(found) != 1:
        raise DocumentError(f"{file}: holds {len(found) or 'no'} objects with a pod; give it one")
    return found[0], objects
