"""Manifests of every kind, as people write them."""

POD_SPEC = "containers:\n- {name: web, image: 'web:1', ports: [{containerPort: 8080}]}\n"


def _indented(text, spaces):
    return "".join(" " * spaces + line + "\n" for line in text.splitlines())


def workload(kind, api="apps/v1", name="web", more=""):
    path = (
        "  jobTemplate:\n    spec:\n      template:\n        spec:\n"
        if kind == "CronJob"
        else "  template:\n    spec:\n"
    )
    spec = _indented(POD_SPEC, 10 if kind == "CronJob" else 6)
    return f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n{more}spec:\n{path}{spec}"


POD = f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: alone\nspec:\n{_indented(POD_SPEC, 2)}"
SERVICE = "# keep me\napiVersion: v1\nkind: Service\nmetadata: {name: web}   # here\nspec: {ports: [{port: 80}]}\n"

WORKLOADS = {
    "Pod": POD,
    "Deployment": workload("Deployment"),
    "StatefulSet": workload("StatefulSet"),
    "DaemonSet": workload("DaemonSet"),
    "ReplicaSet": workload("ReplicaSet"),
    "ReplicationController": workload("ReplicationController", "v1"),
    "Job": workload("Job", "batch/v1"),
    "CronJob": workload("CronJob", "batch/v1"),
    "DeploymentConfig": workload("DeploymentConfig", "apps.openshift.io/v1"),
    "Rollout": workload("Rollout", "argoproj.io/v1alpha1"),
}
