"""Sidecar configs as hypothesis makes them up: whatever those injectors would read and Kubernetes would take."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from injector.pods.context import Object

#: Texts that mean something to YAML, Jinja, Go templates, shells or nobody.
ODD = [
    "", " ", "yes", "0644", "1e3", "null", "~", "!replace x", "!!str 1", "&a *a", "- x", "a: b", "# no comment", "'",
    "{{ params.x }}", "{{.Values.x}}", "{% if x %}", "{# note #}", "{{{ x }}}", "{%- raw -%}{{ y }}{% endraw %}", "}}",
    "%}", "{", "{{", "{% endraw %}", "a\nb", "#!/bin/sh\nset -e\nexec nginx -g 'daemon off;'\n", "  indented\n", '"',
    "trailing \nx\n", "\n\n", "\ttab\tand\ttab\n", "a\r\nb", "line\u2028end", "\x85", "naïve 🦄", "$(HOME)", "x" * 300,
    "{{\n}}\n{%\n%}\n", "a\n\n{{ b }}\n  c: {# d #}\n", "<<", "=", "2026-01-01", "1_000", "0x1F", "\ufeffbom", "\\",
    "\\n", "`", "@", "%", "a\n b\n", "a\n\n", "key: |\n  x\n", "{%+ raw %}",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(ODD),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\ufdd0\ufdd1\ufdd2\x00"), max_size=20
    ),
)  # fmt: skip
_NAMES = ["sidecar-nginx", "a", "b2", "web-logs", "yes", "n", "0", "1e3", "envoy", "null"]
names = st.sampled_from(_NAMES)
_VARIABLES = ["A", "HOME", "y", "NO", "http_proxy", "X_1"]
_PATHS = ["/etc/nginx", "/x", "/logs/a b", "/{{x}}", "/~"]
_HOST_PATHS = [{"path": "/var/{{x}}"}, {"path": "/", "type": ""}]
_IMAGES = ["nginx:1.12.2", "r.example:5000/a@sha256:" + "0" * 64]
_RESOURCES = [{}, {"limits": {"cpu": 1, "memory": "64Mi"}, "requests": {"cpu": "100m"}}, {"limits": {}}]
_SECURITY = [{}, {"runAsUser": 101, "capabilities": {"drop": ["ALL"]}}, {"privileged": True}]


def lists(elements: st.SearchStrategy[Any], key: Any, most: int = 3) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, max_size=most, unique_by=key)


references = st.fixed_dictionaries(
    {"name": st.sampled_from(["config", "secret.x"])}, optional={"optional": st.booleans()}
)
variables = st.one_of(
    st.fixed_dictionaries({"name": st.sampled_from(_VARIABLES)}, optional={"value": texts}),
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(_VARIABLES),
            "valueFrom": st.one_of(
                st.builds(lambda r, k: {"configMapKeyRef": {**r, "key": k}}, references, st.sampled_from(["k", "x.y"])),
                st.just({"fieldRef": {"fieldPath": "metadata.labels['{{x}}']"}}),
            ),
        }
    ),
)
envs = lists(variables, lambda v: v["name"])
volumes = st.one_of(
    st.fixed_dictionaries({"name": names, "emptyDir": st.sampled_from([{}, {"medium": "Memory"}])}),
    st.fixed_dictionaries({"name": names, "configMap": references}),
    st.fixed_dictionaries(
        {"name": names, "hostPath": st.sampled_from([{"path": "/var/{{x}}"}, {"path": "/", "type": ""}])}
    ),
)


def mounts(known: list[str]) -> st.SearchStrategy[list[Object]]:
    """Mounts of some volumes, none if there are none."""
    if not known:
        return st.just([])
    mount = st.fixed_dictionaries(
        {"name": st.sampled_from(known), "mountPath": st.sampled_from(_PATHS)},
        optional={"readOnly": st.booleans(), "subPath": st.sampled_from(["a", "b c"])},
    )
    return lists(mount, lambda m: m["mountPath"])


handlers = st.sampled_from(
    [
        {"httpGet": {"path": "/{{x}}?a=%}", "port": 80}},
        {"tcpSocket": {"port": 80}},
        {"exec": {"command": ["sh", "-c", "test -f {{ x }}\nexit"]}},
    ]
)


def _ports(name: str) -> list[Object]:
    """Ports that no container of another name has: those of a pod share them."""
    port = 80 + _NAMES.index(name)
    return [{"containerPort": port, "name": f"port-{port}"}, {"containerPort": port, "protocol": "UDP"}]


@st.composite
def containers(draw: st.DrawFn, known: list[str], *, probes: bool) -> Object:
    """A container that Kubernetes takes; init containers have no probes."""
    container: Object = {
        "name": draw(names),
        "image": draw(st.sampled_from(["nginx:1.12.2", "r.example:5000/a@sha256:" + "0" * 64])),
    }
    some: dict[str, st.SearchStrategy[Any]] = {
        "imagePullPolicy": st.sampled_from(["Always", "IfNotPresent"]),
        "command": st.lists(texts, max_size=3),
        "args": st.lists(texts, max_size=3),
        "workingDir": st.sampled_from(["/", "/a b"]),
        "env": envs,
        "envFrom": st.lists(st.builds(lambda r: {"configMapRef": r}, references), max_size=1),
        "volumeMounts": mounts(known),
        "resources": st.sampled_from(_RESOURCES),
        "securityContext": st.sampled_from(_SECURITY),
        "tty": st.booleans(),
        "ports": st.sampled_from([[], _ports(container["name"])]),
    }  # fmt: skip
    if probes:
        some |= {"livenessProbe": handlers, "lifecycle": st.builds(lambda h: {"preStop": h}, handlers)}
    for field, values in some.items():
        if draw(st.booleans()):
            container[field] = draw(values)
    return container


@st.composite
def configs(draw: st.DrawFn) -> Object:
    """A config of either form. At least one container or variable, so that pods get something."""
    config: Object = {}
    if draw(st.booleans()):
        config["name"] = draw(st.sampled_from(["test", "Test_1:1.2", "php:latest", "a.b.c", "x" * 80]))
    if draw(st.booleans()):
        config["volumes"] = draw(lists(volumes, lambda v: v["name"]))
    known = [volume["name"] for volume in config.get("volumes", [])]
    taken: set[str] = set()
    for field in ("containers", "initContainers"):
        if field == "containers" or draw(st.booleans()):
            found = draw(lists(containers(known, probes=field == "containers"), lambda c: c["name"], 2))
            config[field] = [c for c in found if c["name"] not in taken]
            taken |= {c["name"] for c in found}
    if draw(st.booleans()):
        config["env"] = draw(envs)
        every = draw(lists(mounts(known).map(lambda m: m[:1]), str, 1))
        config["volumeMounts"] = [mount for some in every for mount in some if not _clashes(mount, config)]
    if draw(st.booleans()):
        config["hostAliases"] = [{"ip": "1.2.3.4", "hostnames": ["a.example", "b.example"]}]
        config["serviceAccountName"] = draw(st.sampled_from(["builder", "1e3", "n"]))
    for field in ("hostNetwork", "hostPID"):
        if draw(st.booleans()):
            config[field] = draw(st.booleans())
    if not config["containers"]:
        config["imagePullSecrets"] = [{"name": "registry"}]
    return config


def _clashes(mount: Object, config: Object) -> bool:
    """Whether a container has another volume at the place of a mount that all containers get."""
    own = [m for f in ("containers", "initContainers") for c in config.get(f, []) for m in c.get("volumeMounts", [])]
    return any(m["mountPath"] == mount["mountPath"] and m["name"] != mount["name"] for m in own)
