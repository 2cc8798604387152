"""`injector resume`: what `injector pause` did is taken back."""

from __future__ import annotations

import click

from injector.cli.options import INJECTOR_OPTIONS, CommonOptions, as_one, with_options


@click.command()
@with_options(*INJECTOR_OPTIONS)
@as_one(CommonOptions)
def resume(options: CommonOptions) -> int:
    """Switch the injector on again after `injector pause`.

    Pods that were created while injection was paused have no sidecar. To list them, and the commands that restart them,
    run `injector list -A --missing`.
    """
    from injector.cli.live_setup import configuration_name, configurations
    from injector.cluster.installation import PAUSE_MANAGER, is_paused, resuming

    still = paused = False
    with options.connect() as live:
        for configuration in configurations(live, options.injector_namespace):
            name = configuration_name(configuration)
            was = any(map(is_paused, configuration.get("webhooks") or ()))
            paused = paused or was
            after = live.apply(resuming(configuration), PAUSE_MANAGER, f"resume {name}")
            left = [entry["name"] for entry in after.get("webhooks") or () if is_paused(entry)]
            if left:
                # somebody else applied the same selector: theirs is to take away
                click.echo(
                    f"{name}: another field manager still pauses {', '.join(left)}; to see which, run kubectl "
                    "get -o yaml --show-managed-fields for this configuration",
                    err=True,
                )
                still = True
            else:
                click.echo(f"{name}: {'resumed' if was else 'was not paused'}", err=True)
    if paused:
        click.echo("To find pods that were created while injection was paused: injector list -A --missing", err=True)
    return int(still)
