"""The pod that a template is shown and tested with where nobody names one."""

from __future__ import annotations

from typing import Final

from injector.pods.context import Object

#: An ordinary Deployment, as its author writes it.
SAMPLE: Final[Object] = {
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
