"""What goes into the settings, so that labels and annotations can stay as they are."""

from __future__ import annotations

from collections.abc import Sequence

from injector.authoring.importing.folder import Imported
from injector.templates.dump import dump


def settings_for(templates: Sequence[Imported]) -> str:
    """The settings as YAML, with what each line is for. Names are those that the forms are widely used with."""
    named = [t for t in templates if t.sidecar.name]
    plain = [t.name for t in templates if not t.sidecar.name]
    if named and not plain:
        return _NAMED
    listed = f"templates: [{', '.join(dump(name).strip() for name in plain)}]"  # `1` and `on` are no texts
    return _PLAIN.replace("TEMPLATES", f"{listed:43} # what they get") + (_BOTH if named else "")


_NAMED = """\
prefix: injector.tumblr.com                # what is before the slash in your pods' annotations
templatesKey: injector.tumblr.com/request  # the annotation by which they name what they want
podDefault: named                          # only pods that have it, wherever they are
templates: []
nativeSidecars: never                      # plain containers, as before
"""
_PLAIN = """\
prefix: sidecar-injector-webhook.morven.me  # what is before the slash in your pods' annotations
namespaceLabel: {key: sidecar-injector}     # your namespaces' label
podDefault: skip                            # only pods whose annotation says yes
TEMPLATES
nativeSidecars: never                       # plain containers, as before
"""
_BOTH = """\
# for those with a name: templatesKey: .../request and podDefault: named in the place of skip
"""
