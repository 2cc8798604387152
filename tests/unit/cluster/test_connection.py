"""What the import of the injector's client leaves to other users of Kubernetes' library in the same process."""

from __future__ import annotations

import subprocess
import sys

import pytest

_IMPORT = "import sys, injector.cluster.connection as ours\n"


def run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", _IMPORT + code], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_only_what_is_used_is_loaded():
    loaded = run("print(*(name for name in sys.modules if name.partition('.')[0] == 'kubernetes'))").split()
    assert "kubernetes.aio.client.api_client" in loaded
    unused = ("kubernetes.client", "kubernetes.dynamic", "kubernetes.aio.stream", "kubernetes.aio.client.models.v1_pod")
    assert not [name for name in loaded if name in unused]


@pytest.mark.parametrize(
    "code",
    [
        "import kubernetes; assert kubernetes.__version__; assert kubernetes.client.V1Pod",
        "import kubernetes.aio; assert kubernetes.aio.__version__; assert kubernetes.aio.watch",
        "import kubernetes.aio.client; assert kubernetes.aio.client.ApiClient is ours.ApiClient",
        "from kubernetes import client, config; assert client.CoreV1Api and config.load_kube_config",
        "from kubernetes.aio import client, dynamic; assert client.ApiClient is ours.ApiClient and dynamic",
        "from kubernetes import *; import kubernetes; assert kubernetes.utils; assert not hasattr(kubernetes, 'no')",
    ],
)
def test_others_find_the_whole_library(code: str):
    run(f"{code}\nimport kubernetes, kubernetes.aio\nassert kubernetes.aio.client.ApiClient is ours.ApiClient")
