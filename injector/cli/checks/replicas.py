"""The injector's pods: that there are some, and that they are ready to answer."""

from __future__ import annotations

from injector.cli.checks.check_context import CheckContext, CheckVerdicts, Section, bad, good, warning


def endpoints(context: CheckContext) -> CheckVerdicts:
    """https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#ready."""
    service, namespace = context.service, context.namespace
    if service is None:
        to_do = "apply the chart again: the webhooks call that Service"
        yield bad("service", f"there is no Service {namespace}/{context.name}", to_do)
        return
    ports = [port["port"] for port in service["spec"].get("ports") or ()]
    if context.entries and context.installation.port not in ports:
        has, called = ", ".join(map(str, ports)), context.installation.port
        text = f"Service {context.name} has port {has}; the webhooks call {called}"
        yield bad("service-port", text, "set the same port in both")
    slices = context.live.objects(
        f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
        {"labelSelector": f"kubernetes.io/service-name={context.name}"},
    )
    # a condition that is not there counts as true
    ready = [
        (e.get("conditions") or {}).get("ready") is not False
        for endpoint_slice in slices
        for e in endpoint_slice.get("endpoints") or ()
    ]
    if any(ready):
        yield good("endpoints", f"{sum(ready)} of {len(ready)} endpoints of Service {context.name} are ready")
    else:
        yield bad(
            "endpoints",
            f"Service {namespace}/{context.name} has no ready endpoint: nothing answers the API server",
            f"kubectl get pods -n {namespace}; /readyz on the HTTP port says what is missing, and the log says why",
        )


def replicas(context: CheckContext) -> CheckVerdicts:
    """The Deployment, where there is one."""
    deployment = context.deployment
    if deployment is None:
        to_do = "this is fine if you run it without a Deployment; if not, apply the chart again"
        yield warning("replicas", f"no Deployment of the injector in namespace {context.namespace}", to_do)
        return
    name, desired = deployment["metadata"]["name"], deployment["spec"].get("replicas", 1)
    status = deployment.get("status") or {}
    ready, updated = status.get("readyReplicas", 0), status.get("updatedReplicas", 0)
    look = (
        f"kubectl rollout status deployment/{name} -n {context.namespace}; kubectl describe pods -n {context.namespace}"
    )
    if not ready:
        yield bad("replicas", f"Deployment {name}: none of {desired} replicas is ready", look)
    elif ready < desired or updated < desired:
        text = f"Deployment {name}: {ready} of {desired} replicas are ready, {updated} of the newest version"
        yield warning("replicas", text, look)
    elif desired < 2:
        text = f"Deployment {name} has one replica: while it restarts, pods of `enabled` namespaces get no sidecar"
        yield warning("replicas", text, f"kubectl scale deployment/{name} -n {context.namespace} --replicas=2")
    else:
        yield good("replicas", f"Deployment {name}: {ready} of {desired} replicas are ready")


SECTION = Section("server", (endpoints, replicas))
