"""The Kubernetes API and what is done by it: reading the cluster, config maps, Events, the built-in certificates."""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any


def _defer(name: str) -> None:
    """Have a package in `sys.modules` whose own code runs when somebody first reads a name that it does not have yet.

    The code of these two imports a second client, web sockets and schemas: 10 MiB and a tenth of a second at each start
    of a server, which uses a few of their modules alone.
    """
    spec = find_spec(name)
    if name in sys.modules or spec is None or spec.loader is None:
        return
    package, loader = module_from_spec(spec), spec.loader

    def run(attribute: str) -> Any:
        if vars(package).pop("__getattr__", None):
            loader.exec_module(package)
        return getattr(package, attribute)

    vars(package)["__getattr__"] = run
    sys.modules[name] = package
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, package)


_defer("kubernetes")
_defer("kubernetes.aio")
