"""An init container may redirect traffic, and `redirects` does not name it; or `redirects` names no such container.

From the moment that an init container redirects the pod's traffic to a sidecar, everything that needs the network needs
that sidecar. If the sidecar starts later, an init container in between waits for it in vain, and the pod does not
start. `redirects` in template.yaml names the sidecar, so that the init container runs in time: directly after a native
sidecar, and behind all other init containers if the sidecar is a plain container. An init container with NET_ADMIN that
does something else with the network can disable this rule on the line.

Source: docs/templates.md, "Native sidecars".

Bad:
    # overlay.yaml.j2
    spec:
      initContainers:
      - name: proxy-redirect
        image: example.com/redirect:1.2
        securityContext:
          capabilities: {drop: [ALL], add: [NET_ADMIN]}
      containers:
      - name: proxy
        image: example.com/proxy:1.2

Good:
    # template.yaml
    description: A proxy with a redirect to it.
    redirects: {proxy-redirect: proxy}
"""

from __future__ import annotations

from collections.abc import Iterator

from injector.authoring.lint.subject import Finding, Subject
from injector.names import hint
from injector.pods.constraints.pod_view import mapping, sequence

SEVERITY = "warning"
_CAPABILITIES = ("NET_ADMIN", "ALL")


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each init container, and one for each name that is in no rendering."""
    redirects = subject.template.redirects
    by_list: dict[str, set[str]] = {"initContainers": set(), "containers": set()}
    for rendering in subject.renderings:
        for path, container in rendering.containers():
            name, list_ = str(container.get("name")), str(path[1])
            by_list[list_].add(name)
            capabilities = mapping(mapping(container.get("securityContext")).get("capabilities"))
            for index, capability in enumerate(sequence(capabilities.get("add"))):
                if list_ == "initContainers" and name not in redirects and capability in _CAPABILITIES:
                    yield Finding(
                        f"{name} may redirect the pod's traffic, and `redirects` does not name it",
                        rendering.overlay.place((*path, "securityContext", "capabilities", "add", index)),
                        f"if it redirects traffic to a sidecar, write redirects: {{{name}: NAME}} in template.yaml, "
                        "with the sidecar's name; if it does not, disable this rule here",
                        (*path, "name"),
                    )
    if not subject.renderings:
        return
    for init, sidecar in redirects.items():
        for name, list_ in ((init, "initContainers"), (sidecar, "containers")):
            if name not in by_list[list_]:
                near = hint(name, sorted(by_list[list_]), "there are")
                yield Finding(f"there is no {name} under `{list_}`{near}", subject.manifest(("redirects", init)))
