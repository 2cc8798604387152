"""Rules about the files of a template's folder."""

from __future__ import annotations

import re

from injector.authoring.lint.engine import disables
from injector.authoring.lint.rules._reading import sources_used
from injector.authoring.lint.subject import Finding, Findings, Rendering, Subject
from injector.names import hint, respelling
from injector.pods.context import mapping, sequence

SEVERITY = "warning"


def disable(subject: Subject) -> Findings:
    """A comment with `lint: disable` names no rule, gives no reason, or has no effect.

    `# lint: disable=RULE WHY` disables a rule for its line, or, on a line of its own, for the next line. At the left
    margin of `template.yaml` it disables the rule for the whole template. In a file in which `#` does not begin a
    comment, write `{# lint: disable=RULE WHY #}` on a line of its own. Do not write this comment behind other text:
    Jinja would then remove the line end. In the README, write `<!-- lint: disable=RULE WHY -->`. Separate several rules
    by commas.

    Why: a comment that is out of date can hide the next mistake, and one that is misspelt does nothing. Without a
    reason, the next author does not know whether the comment is still needed.

    Bad:
        # template.yaml
        description: A tool.
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool  # lint: disable=resources
            image: tool:1

    Good:
        # template.yaml
        # lint: disable=resources,startup-probe a LimitRange sets the requests, and the tool is ready at once
        description: A tool.
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1

    Proof: only the linter reads these comments.
    """
    for comment in disables(subject.sources):
        if not comment.rules:
            yield Finding("this comment switches no rule off", comment.place, "write lint: disable=RULE WHY")
        for name in comment.rules:
            if name not in subject.rules:
                message = f"there is no rule `{name}`{hint(name, subject.rules)}"
                yield Finding(message, comment.place, **respelling(name, subject.rules))
        if comment.rules and not comment.reason:
            yield Finding(
                f"this comment gives no reason for disabling {', '.join(f'`{name}`' for name in comment.rules)}; "
                "add the reason at the end of the comment",
                comment.place,
            )


_CAPABILITIES = ("NET_ADMIN", "ALL")


def redirects(subject: Subject) -> Findings:
    """An init container may redirect traffic, and `redirects` does not name it; or `redirects` names no such container.

    From the moment that an init container redirects the pod's traffic to a sidecar, everything that needs the network
    needs that sidecar. If the sidecar starts later, an init container in between waits for it in vain, and the pod does
    not start. `redirects` in template.yaml names the sidecar, so that the init container runs in time: directly after a
    native sidecar, and behind all other init containers if the sidecar is a plain container. An init container with
    NET_ADMIN that does something else with the network can disable this rule on the line.

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
            securityContext: {runAsUser: 1337}  # what this user sends is not redirected

    Good:
        # template.yaml
        description: A proxy with a redirect to it.
        redirects: {proxy-redirect: proxy}
    """
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
                message = f"there is no {name} under `{list_}`{hint(name, by_list[list_])}"
                yield Finding(message, subject.manifest(("redirects", init)), **respelling(name, by_list[list_]))


#: Bytes of a ConfigMap (Kubernetes documentation, "ConfigMaps") and of all annotations of an object (its validation).
_CONFIG_MAP = 1024 * 1024
_ANNOTATIONS = 256 * 1024
_SHARE = 0.75


def size(subject: Subject) -> Findings:
    """The template renders almost as much as Kubernetes can store.

    All config files that a template renders for a pod are in one ConfigMap, which can have at most 1 MiB. The config
    files are annotations instead if the template has `delivery: annotation`, or if the pod has no controller. The
    annotations of a pod can have at most 256 KiB in total. The linter renders the template with each parameter at the
    limits of its schema. The rule reports the template if it then renders more than three quarters of one of these
    sizes.

    Why: the API server refuses a ConfigMap or a pod that is too large. The first to see the error is the team that sets
    the longest value, such as a long list.
    https://kubernetes.io/docs/concepts/configuration/configmap/

    Bad:
        # template.yaml
        description: A tool.
        delivery: annotation
        files:
          tool.conf: {}
        # tool.conf.j2
        {% for number in range(9000) %}
        server 10.0.0.1 weight=100 {{ number }};
        {% endfor %}
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            volumeMounts:
            - {name: tool-config, mountPath: /etc/tool, readOnly: true}
          volumes:
          - name: tool-config
            configMap: {name: "{{ files.configmap }}"}

    Good:
        # tool.conf.j2
        {% for number in range(90) %}
        server 10.0.0.1 weight=100 {{ number }};
        {% endfor %}
    """
    if not subject.renderings:
        return
    largest = max(subject.renderings, key=_files)
    size = _files(largest)
    if size > _SHARE * _CONFIG_MAP:
        name = max(largest.files, key=lambda file: len(largest.files[file].text))
        yield Finding(
            (
                f"the config files are {size // 1024} KiB in total, more than three quarters of the "
                f"{_CONFIG_MAP // 1024} KiB that a ConfigMap may have"
            ),
            subject.manifest(("files", name)),
            f"limit the size of the parameters, or write smaller files (found with this sample: {largest.title})",
        )
    heaviest = max(subject.renderings, key=_annotations)
    size = _annotations(heaviest)
    if size > _SHARE * _ANNOTATIONS:
        yield Finding(
            (
                f"the pod's annotations are {size // 1024} KiB in total, more than three quarters of the "
                f"{_ANNOTATIONS // 1024} KiB that a pod may have"
            ),
            subject.manifest(("delivery",)) if subject.template.files else heaviest.overlay.place(("metadata",)),
            (
                "limit the size of the parameters, or write smaller files; a pod without a controller gets its files "
                f"in annotations, whatever `delivery` says (found with this sample: {heaviest.title})"
            ),
        )


def _files(rendering: Rendering) -> int:
    return sum(len(file.text.encode()) for file in rendering.files.values())


def _annotations(rendering: Rendering) -> int:
    annotations = (rendering.after.get("metadata") or {}).get("annotations") or {}
    return sum(len(f"{key}{value}".encode()) for key, value in annotations.items())


def unused_source(subject: Subject) -> Findings:
    """A file of the folder is not used.

    The rule reports a `*.j2` file that `files:` does not name and that no other file includes or imports.

    Why: most often the file is a config file that is missing in `files:`, so it never reaches the pod. Or nobody needs
    the file any more, and the next author edits it without an effect.

    Bad:
        # template.yaml
        description: A tool.
        # overlay.yaml.j2
        spec: {priorityClassName: sidecars}
        # tool.conf.j2
        level info;

    Good:
        # template.yaml
        description: A tool.
        files:
          tool.conf: {}
        # overlay.yaml.j2
        spec:
          containers:
          - name: tool
            image: tool:1
            volumeMounts:
            - {name: tool-config, mountPath: /etc/tool, readOnly: true}
          volumes:
          - name: tool-config
            configMap: {name: "{{ files.configmap }}"}

    Proof: the file is not used, so it reaches no program.
    """
    used = sources_used(subject)
    for file in subject.sources:
        if file.endswith(".j2") and file not in used:
            yield Finding(
                f"nothing renders or includes {file}",
                subject.line_place(file, 1, 1),
                f"list it under files: in template.yaml ({file.removesuffix('.j2')}: {{}}), or delete it"
                if subject.template.applies_to.pods_created and not file.startswith("_")
                else "include or import it, or delete it",  # config files are for sidecars
            )


#: Names of config files, and the command that checks one.
_KNOWN = (
    (re.compile(r"nginx\.conf\Z"), '[nginx, -t, -q, -e, stderr, -c, "{path}"]'),
    (re.compile(r"(?:envoy|bootstrap)\.(?:ya?ml|json)\Z"), '[envoy, --mode, validate, -c, "{path}"]'),
    (re.compile(r"fluent-?bit\.(?:conf|ya?ml)\Z"), '[fluent-bit, --dry-run, -c, "{path}"]'),
    (re.compile(r"(?:fluentd?|td-agent)\.conf\Z"), '[fluentd, --dry-run, -c, "{path}"]'),
    (re.compile(r"haproxy\.(?:cfg|conf)\Z"), '[haproxy, -c, -f, "{path}"]'),
    (re.compile(r"prometheus\.ya?ml\Z"), '[promtool, check, config, "{path}"]'),
    (re.compile(r"Caddyfile\Z"), '[caddy, validate, --adapter, caddyfile, --config, "{path}"]'),
    (re.compile(r"vector\.(?:ya?ml|toml|json)\Z"), '[vector, validate, --no-environment, "{path}"]'),
    (re.compile(r"otel(?:col)?(?:-config)?\.ya?ml\Z"), '[otelcol, validate, --config, "{path}"]'),
    (re.compile(r"(?:httpd|apache2?)\.conf\Z"), '[httpd, -t, -f, "{path}"]'),
)


def validate_missing(subject: Subject) -> Findings:
    """A config file has no `validate`, although its program can check the file.

    `validate` is a command with which the real program checks the file, without serving anything. `injector test` runs
    it on the files that the template renders. Without `validate`, you notice a wrong directive only when a pod does not
    start.

    Source: each program's manual: `nginx -t`, `envoy --mode validate` and so on.

    Bad:
        # template.yaml
        description: nginx in front of the app.
        files:
          nginx.conf: {}
        # nginx.conf.j2
        events {}
        http { client_max_bodysize 1m; }
        # overlay.yaml.j2
        spec:
          containers:
          - name: proxy
            image: example.com/nginx:1.2
            volumeMounts:
            - {name: proxy-config, mountPath: /etc/nginx, readOnly: true}
          volumes:
          - name: proxy-config
            configMap: {name: "{{ files.configmap }}"}

    Good:
        # template.yaml
        description: nginx in front of the app.
        files:
          nginx.conf: {validate: [nginx, -t, -q, -e, stderr, -c, "{path}"]}
        # nginx.conf.j2
        events {}
        http { client_max_body_size 1m; }
    """
    for file in subject.template.files.values():
        command = next((command for name, command in _KNOWN if name.match(file.name)), None)
        if command is not None and not file.validate:
            yield Finding(
                f"no command validates {file.name} before a pod uses it",
                subject.manifest(("files", file.name)),
                f"add validate: {command}",
            )
