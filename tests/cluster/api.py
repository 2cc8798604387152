"""A small JSON client for the Kubernetes API.

Objects are plain dicts, kinds are named as in manifests:

    api.create({"apiVersion": "v1", "kind": "Pod", ...})
    api.get("Deployment", "web", "shop")
    api.list("Pod", "shop", labelSelector="app=web")
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]

# A kind's API version, and where its plural is not its name with an "s".
_VERSIONS = {
    "v1": (
        "ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolumeClaim Pod ResourceQuota Secret Service"
        " ServiceAccount"
    ),
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1": "CronJob Job",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "policy/v1": "PodDisruptionBudget",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "autoscaling.k8s.io/v1": "VerticalPodAutoscaler",
    "networking.k8s.io/v1": "NetworkPolicy",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
        " ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "scheduling.k8s.io/v1": "PriorityClass",
    "node.k8s.io/v1": "RuntimeClass",
}
_VERSION_OF = {kind: version for version, kinds in _VERSIONS.items() for kind in kinds.split()}
_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
}


class ApiError(Exception):
    """The API server refused. `code`, `reason` and `message` are those of its Status."""

    def __init__(self, code: int, body: Any) -> None:
        status = body if isinstance(body, dict) else {}
        self.code = code
        self.body = body
        self.reason = str(status.get("reason", ""))
        self.message = str(status.get("message", body))
        super().__init__(f"{code} {self.reason}: {self.message}")


def path(kind: str, namespace: str | None = None, name: str | None = None, api_version: str | None = None) -> str:
    """The URL path of a kind's collection, or of the object of that name."""
    version = api_version or _VERSION_OF[kind]
    plural = kind.lower()
    if plural.endswith("y"):
        plural = plural[:-1] + "ies"
    elif plural.endswith("ss"):
        plural += "es"
    elif not plural.endswith("s"):
        plural += "s"
    parts = ["", "apis" if "/" in version else "api", version]
    if namespace:
        parts += ["namespaces", namespace]
    return "/".join([*parts, plural, *([name] if name else [])])


class Api:
    """The API server as one user sees it. Threads may share it: each has a connection of its own."""

    def __init__(self, server: str, authority: bytes, pair: tuple[Path, Path] | None = None, token: str = "") -> None:
        url = urlsplit(server)
        self._host, self._port = url.hostname or "", url.port
        self._tls = ssl.create_default_context(cadata=authority.decode())
        if pair:
            self._tls.load_cert_chain(*pair)
        self._token = token
        self._local = threading.local()

    @property
    def warnings(self) -> list[str]:
        """The warnings that came with this thread's last answer: what kubectl prints."""
        last: list[str] = getattr(self._local, "warnings", [])
        return last

    def create(self, obj: Object, namespace: str | None = None, *, dry_run: bool = False, **query: str) -> Object:
        """Create the object, in the namespace that it names or in this one."""
        namespace = namespace or obj["metadata"].get("namespace")
        if dry_run:
            query["dryRun"] = "All"
        return self._call("POST", path(obj["kind"], namespace, api_version=obj["apiVersion"]), obj, query)

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object:
        """The object of that name."""
        return self._call("GET", path(kind, namespace, name))

    def list(self, kind: str, namespace: str | None = None, **query: str) -> list[Object]:
        """All objects of the kind, in one namespace or, without one, in all."""
        items: list[Object] = self._call("GET", path(kind, namespace), query=query)["items"]
        return items

    def replace(self, obj: Object, subresource: str = "") -> Object:
        """Put the object in the place of the one that is there."""
        metadata = obj["metadata"]
        where = path(obj["kind"], metadata.get("namespace"), metadata["name"], obj["apiVersion"])
        return self._call("PUT", f"{where}/{subresource}" if subresource else where, obj)

    def patch(
        self, kind: str, name: str, patch: Any, namespace: str | None = None, patch_type: str = "merge"
    ) -> Object:
        """Change the object; `patch_type` is merge, strategic or json."""
        return self._call("PATCH", path(kind, namespace, name), patch, content_type=_PATCH_TYPES[patch_type])

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: str = "Background",
        *,
        missing_ok: bool = False,
    ) -> None:
        """Delete the object; what it owns goes too, unless `propagation` is Orphan."""
        try:
            self._call("DELETE", path(kind, namespace, name), query={"propagationPolicy": propagation})
        except ApiError as error:
            if not missing_ok or error.code != http.client.NOT_FOUND:
                raise

    def exists(self, kind: str, name: str, namespace: str | None = None) -> bool:
        """Whether there is an object of that name."""
        try:
            self.get(kind, name, namespace)
        except ApiError as error:
            if error.code == http.client.NOT_FOUND:
                return False
            raise
        return True

    def text(self, url: str) -> str:
        """What the API server answers at a path that is not an object, such as /metrics."""
        return self._send("GET", url, b"", {}).decode()

    def call(self, method: str, url: str, body: Any = None, content_type: str = "application/json") -> Object:
        """Any request: for what the other methods do not do."""
        return self._call(method, url, body, content_type=content_type)

    def _call(
        self,
        method: str,
        url: str,
        body: Any = None,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        payload = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": content_type}
        answer: Object = json.loads(self._send(method, f"{url}?{urlencode(query)}" if query else url, payload, headers))
        return answer

    def _send(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> bytes:
        if self._token:
            headers = {**headers, "Authorization": f"Bearer {self._token}"}
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        for fresh in (False, True):
            if connection is None or fresh:
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=60, context=self._tls)
                self._local.connection = connection
            reused = connection.sock is not None
            try:
                connection.request(method, url, body or None, headers)
                response = connection.getresponse()
                answer = response.read()
                break
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                connection.close()
                if not reused:  # only a connection that was kept may have been closed meanwhile
                    raise
            except BaseException:
                connection.close()  # an answer that comes late must not be taken for the next one's
                raise
        self._local.warnings = [
            json.loads(text) for value in response.headers.get_all("Warning", []) for text in _warning_texts(value)
        ]
        if response.status >= http.client.BAD_REQUEST:
            try:
                raise ApiError(response.status, json.loads(answer))
            except ValueError:
                raise ApiError(response.status, answer.decode(errors="replace")) from None
        return answer


def _warning_texts(header: str) -> list[str]:
    """The quoted texts of a header such as: 299 - "one", 299 - "two"."""
    return re.findall(r'\d{3} \S+ ("(?:[^"\\]|\\.)*")', header)
