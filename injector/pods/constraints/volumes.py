"""Volumes have one source; mounts name a volume that is there, and no two of a container share a path.

Rules: Kubernetes API reference, Volume, VolumeMount and VolumeDevice.
"""

from __future__ import annotations

from injector.pods.constraints.parts import Container, Parts, Violations, invalid, mapping, mappings, shown

#: Fields of an entry of a projected volume; each entry has one.
_PROJECTIONS = ("clusterTrustBundle", "configMap", "downwardAPI", "podCertificate", "secret", "serviceAccountToken")


def find(parts: Parts) -> Violations:
    """What is wrong with touched volumes and with the mounts of touched containers."""
    for volume in parts.touched_volumes:
        sources = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        where = f"spec.volumes[{volume.get('name') if isinstance(volume.get('name'), str) else ''}]"
        if len(sources) > 1:
            yield invalid(f"{where} has {' and '.join(sources)}; a volume has one source")
        for entry in mappings(mapping(volume.get("projected")).get("sources")):
            found = [key for key in _PROJECTIONS if entry.get(key) is not None]
            if len(found) > 1:
                yield invalid(f"{where}.projected has an entry with {' and '.join(found)}; make it one each")
    names = None
    for container in parts.touched:
        if "volumeMounts" in container.body or "volumeDevices" in container.body:
            if names is None:
                names = {v["name"] for v in parts.volumes if isinstance(v.get("name"), str)}
            yield from _mounts(container, names)


def _mounts(container: Container, volumes: set[str]) -> Violations:
    paths: set[str] = set()
    for field, key in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for mount in mappings(container.body.get(field)):
            name, path = mount.get("name"), mount.get(key)
            where = f"{container.path}.{field}"
            if not isinstance(name, str) or name not in volumes:
                yield invalid(f"{where}: there is no volume {shown(name)}; add it to spec.volumes")
            if not isinstance(path, str) or not path or (field == "volumeDevices" and ".." in path.split("/")):
                yield invalid(f"{where}[{shown(name)}].{key} is {shown(path)}; it must be a path")
            elif path in paths:
                yield invalid(f"{where}: two volumes are mounted at {shown(path)}; move one")
            else:
                paths.add(path)
            yield from _sub_path(where, mount)
            if mount.get("mountPropagation") == "Bidirectional" and not _privileged(container):
                yield invalid(f"{where}[{shown(path)}]: mountPropagation Bidirectional needs a privileged container")


def _sub_path(where: str, mount: dict[str, object]) -> Violations:
    given = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
    if len(given) > 1:
        yield invalid(f"{where}: a mount has both subPath and subPathExpr; keep one")
    for field in given:
        path = mount[field]
        if isinstance(path, str) and (path.startswith("/") or ".." in path.split("/")):
            yield invalid(f"{where}: {field} {shown(path)} leaves its volume; make it relative, without ..")


def _privileged(container: Container) -> bool:
    return mapping(container.body.get("securityContext")).get("privileged") is True
