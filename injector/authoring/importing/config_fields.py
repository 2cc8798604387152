"""The fields of a sidecar config, and what each of them is for.

Two forms are in use. One has containers and volumes and no more; which pods get it is an annotation's yes. The other
has a name, by which pods ask for it, and in `env` and `volumeMounts` what all containers get. Forks of both know more
fields of a pod, so each is taken wherever it is met.
"""

from __future__ import annotations

from typing import Final

#: Lists of the pod's spec; they are merged into the pod's own by name.
LISTS: Final = ("initContainers", "containers", "volumes", "hostAliases", "imagePullSecrets")
#: What each container of the pod gets, those of the config among them, where it has none of that name.
EVERYWHERE: Final = ("env", "volumeMounts")
#: Yes or nothing: false is what a pod has anyway.
SWITCHES: Final = ("hostNetwork", "hostPID")
#: What is not for the pod's spec.
METADATA: Final = ("labels", "annotations")
OTHERS: Final = ("name", "inherits", "serviceAccountName")

#: Every field that a config is known by.
CONFIG_FIELDS: Final = frozenset((*LISTS, *EVERYWHERE, *SWITCHES, *OTHERS))
#: Names that people write for a field, and that no config ever had.
MISTAKEN: Final = {
    "environment": "env",
    "environmentVariables": "env",
    "image": "containers",  # a container alone
    "mounts": "volumeMounts",
    "sidecar": "containers",
    "sidecars": "containers",
}
#: Fields that place containers in the other's order; here the templates' order does that.
ORDER: Final = frozenset(("prependContainers",))
