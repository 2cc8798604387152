"""How the API server is reached: which configuration, read by the Kubernetes library's own loaders.

This is the only module that knows that library; `injector.cluster` keeps the rest of it from being imported. The
library's typed models are not used, because they drop fields that they do not know. It loads them lazily, so they cost
nothing. What is used are its loaders, its refreshing of tokens, and its HTTP session.
"""

from __future__ import annotations

import os
from pathlib import Path

from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import (
    ConfigException,
    list_kube_config_contexts,
    load_incluster_config,
    load_kube_config,
)
from yaml import YAMLError

from injector import __version__
from injector.errors import InjectorError
from injector.names import cut

#: Where a pod finds the token of its service account (Kubernetes: "Accessing the API from within a Pod").
_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_CONNECTIONS = 64

ConfigError = ConfigException  #: what refreshing a token may raise at any request

#: What the loaders raise: a malformed file meets whatever error its wrong type happens to cause.
CONFIG_FAULTS = (ConfigException, YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError)


class NoClusterError(InjectorError):
    """There is no usable configuration to reach a cluster by."""


async def open_api(kubeconfig: str | None = None, context: str | None = None) -> ApiClient:
    """The library's client for the cluster that the configuration names; nothing is sent yet.

    `kubeconfig` is a file (several separated by colons, as in $KUBECONFIG), `context` one of its contexts. Without
    them what kubectl would take: $KUBECONFIG, ~/.kube/config, and in a pod its service account.
    Raises NoClusterError, which says where the configuration was looked for and what is wrong there.
    """
    configuration = Configuration()
    configuration.connection_pool_maxsize = _CONNECTIONS
    files = _kubeconfig(kubeconfig)
    source = files or "the pod's service account"
    try:
        if files:
            # persist_config would write renewed tokens into the user's own file
            await load_kube_config(files, context, configuration, persist_config=False)  # type: ignore[no-untyped-call]
        else:
            load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        api = ApiClient(configuration)
    except CONFIG_FAULTS as error:
        cause = cut(" ".join(str(error).split()) or type(error).__name__, 200)
        raise NoClusterError(f"no cluster: {source}: {cause}; name a kubeconfig that kubectl can use") from None
    api.user_agent = f"sidecar-injector/{__version__}"
    return api


def context_namespace(kubeconfig: str | None = None, context: str | None = None) -> str:
    """The namespace that a plain kubectl would use: the context's, the pod's own, else `default`."""
    files = _kubeconfig(kubeconfig)
    try:
        if not files:
            return (_TOKEN / "namespace").read_text().strip() or "default"
        contexts, current = list_kube_config_contexts(files)  # type: ignore[no-untyped-call]
    except CONFIG_FAULTS:
        return "default"
    chosen = next((c for c in contexts if c["name"] == context), current)
    return str(chosen.get("context", {}).get("namespace") or "default")


_NAME_ONE = "name a kubeconfig: --kubeconfig FILE"


def _kubeconfig(kubeconfig: str | None) -> str | None:
    """The kubeconfig files to read, or None where a pod's service account is all there is."""
    home = Path.home() / ".kube" / "config"
    files = kubeconfig or os.environ.get("KUBECONFIG") or (str(home) if home.is_file() else None)
    if files is None:
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return None
        raise NoClusterError(
            f"no cluster: $KUBECONFIG is not set, there is no {home}, and this is not a pod; {_NAME_ONE}"
        )
    if not any(Path(file).expanduser().is_file() for file in files.split(os.pathsep) if file):
        raise NoClusterError(f"no cluster: {files} is not a file; {_NAME_ONE}")
    return files
