"""The templates of these tests: small ones that show every way in which a template reaches into a pod."""

from __future__ import annotations

from pathlib import Path

#: A proxy with a config file, that every container of the app is told of.
PROXY = {
    "template.yaml": """
description: A proxy for tests.
parameters:
  image: {type: string, format: image, default: "registry.example/proxy:1", description: Its image.}
  port: {type: integer, format: port, default: 15999, pods: may-set, description: Where it listens.}
files:
  proxy.conf: {template: proxy.conf.j2}
overridable: [resources]
""",
    "overlay.yaml.j2": """
spec:
  containers:
  - name: proxy
    image: {{ params.image }}
    command: [proxy]
    volumeMounts: [{name: proxy-config, mountPath: /etc/proxy, readOnly: true}]
  - name: "*"
    imagePullPolicy: !replace Always
    env:
    - {name: PROXY, value: "127.0.0.1:{{ params.port }}"}
    - {name: PROXY_URL, value: "http://$(PROXY)/$(ZONE)"}
  volumes:
  - name: proxy-config
    configMap: {name: "{{ files.configmap }}"}
""",
    "proxy.conf.j2": "listen {{ params.port }};\nworkload {{ workload.kind }}/{{ workload.name }};\n",
}

#: A container and nothing else; nothing of it may be changed.
LOGGER = {
    "template.yaml": "description: A log shipper for tests.\n",
    "overlay.yaml.j2": """
spec:
  containers:
  - name: logger
    image: registry.example/logger:1
    volumeMounts: [{name: logs, mountPath: /logs}]
  volumes:
  - name: logs
    emptyDir: {}
""",
}

#: A stamp on the pod, by which a test tells one version of the template from the next.
STAMP = {
    "template.yaml": "description: A stamp for tests.\n",
    "overlay.yaml.j2": 'metadata:\n  labels: {stamp: "one"}\n',
}

#: A container that looks after the app's volume `data`.
KEEPER = {
    "template.yaml": "description: A backup for tests.\n",
    "overlay.yaml.j2": """
spec:
  containers:
  - name: keeper
    image: registry.example/keeper:1
    volumeMounts: [{name: data, mountPath: /data}]
""",
}

#: A shipper, whose variables refer to one another and to one of the app's, with a mount in the app.
SHIP = {
    "template.yaml": "description: A shipper for tests.\n",
    "overlay.yaml.j2": """
spec:
  containers:
  - name: ship
    image: registry.example/ship:1
    volumeMounts: [{name: ship-config, mountPath: /etc/ship}, {name: ship-logs, mountPath: /logs}]
  - name: "*"
    env:
    - {name: SHIP_HOST, value: 127.0.0.1}
    - {name: SHIP_URL, value: "http://$(SHIP_HOST)/$(ZONE)"}
    - {name: LEVEL, value: !replace "debug at $(SHIP_HOST)"}
    volumeMounts: [{name: ship-logs, mountPath: /mnt/logs}]
  volumes:
  - {name: ship-config, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
  - {name: ship-logs, emptyDir: {}}
""",
}

ALL = {"proxy": PROXY, "logger": LOGGER, "stamp": STAMP, "keeper": KEEPER, "ship": SHIP}


def write(folder: Path, **templates: dict[str, str]) -> None:
    """Write templates into a folder of templates, file by file as an editor does."""
    for name, files in templates.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / name / file).write_text(text)


def stamp(value: str) -> dict[str, str]:
    """The template `stamp` in the version that leaves this value."""
    return {**STAMP, "overlay.yaml.j2": STAMP["overlay.yaml.j2"].replace("one", value)}
