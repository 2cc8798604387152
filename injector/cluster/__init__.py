"""The Kubernetes API and what is done by it: reading the cluster, config maps, Events, the built-in certificates."""

import sys
from importlib.util import find_spec, module_from_spec

# Importing these two as a whole brings a second client, web sockets and schemas: 10 MiB and a tenth of a second at each
# start of a server. With modules that are found but not run, `connection` imports what it uses of them alone.
for _name in ("kubernetes", "kubernetes.aio"):
    if _name not in sys.modules and (_spec := find_spec(_name)) is not None:
        sys.modules[_name] = module_from_spec(_spec)
