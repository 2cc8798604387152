"""The images of a node, made without a registry, as OCI archives (OCI Image Layout), for the node's own registry.

Those of the gallery have the names that the templates give by default, with layers of Debian's files and one with the
program. Where the real image has no shell, neither has this one; where it has one, this one has that shell and no more.
The injector's own is what buildah makes of the Dockerfile; the two images that the Dockerfile begins with are made of
Debian packages too, under the names of the real ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml

from tests import parts
from tests.deploy.helm import ROOT

APP = "registry.example/app:1"
SANDBOX = "registry.example/sandbox:1"
#: Where programs look for the user nobody, whose name and number are the same on every Linux.
_NOBODY = {file: Path("/", file) for file in ("etc/passwd", "etc/group")}
_NGINX = "daemon off; pid /dev/shm/nginx.pid;"  # the base has no /run
#: Other names of the app on the pages of docs/coming-from.
_APPS = (
    "registry.example/web:1",
    "registry.example/game:1",
    "hashicorp/http-echo",
    "nginxinc/nginx-unprivileged:1.27",
)
INJECTOR = yaml.safe_load((ROOT / "deploy/chart/values.yaml").read_text())["image"]["repository"]
_TYPE = "application/vnd.oci.image."
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Programs whose own image begins with them, so that a template gives arguments alone.
_ENTRY_POINTS = ("cloud-sql-proxy", "otelcol", "sdk-server")
#: Before it begins, buildah copies itself to memory and seals the copy. The kernel refuses that as long as something
#: still reads a page of the copy (fcntl(2), EBUSY of F_ADD_SEALS), and buildah does not try again.
_NOT_SEALED = "sealing memfd copy: Device or resource busy"
_TRIES = 5
_KEPT = 3  #: archives of each kind that stay in the cache


@dataclass(frozen=True)
class Image:
    """`layers` are folders, the lowest first, or files by the paths that they have in the image."""

    name: str
    layers: Sequence[Path | Mapping[str, Path]]
    config: Mapping[str, Any] = field(default_factory=dict)


def default(template: str, parameter: str = "image") -> str:
    """The image that a template of the gallery uses unless told otherwise."""
    declared = yaml.safe_load((ROOT / "templates" / template / "template.yaml").read_text())
    name: str = declared["parameters"][parameter]["default"]
    return name


def full_name(name: str) -> str:
    """The reference as containerd has it: with Docker Hub's name where it names no registry, and a tag."""
    name = name if ":" in name else f"{name}:latest"
    host, slash, _ = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    return name if "." in host or ":" in host else f"docker.io/{name}"


def gallery(folder: Path) -> Path:
    """The archive with the app's image, the sandbox's, and those of the templates whose programs are here."""
    app = folder / f"app-{parts.app_key()}"
    base = folder / "roots" / "gallery"
    libraries = _files(base, "lib*/*.so*", "lib/*-linux-gnu/*.so*", "usr/lib/*-linux-gnu/*.so*")
    # Ubuntu's shell in Envoy's image, and what Alpine has in Vault's; the others are without, as distroless ones are.
    bash = {"bin/bash": Path("/bin/bash"), **_files(base, "bin/sleep"), **_files(Path("/"), "lib/*/libtinfo.so.6*")}
    shell = _files(base, "bin/sh", "bin/dash", "bin/ls", "bin/cat", "bin/sleep")
    images = [
        Image(APP, [{"app": app}], {"Entrypoint": ["/app"], "User": "1000:1000"}),
        Image(SANDBOX, [{"app": app}], {"Entrypoint": ["/app", "sleep"], "User": "65535:65535"}),
        Image(default("envoy", "redirect-image"), [base]),
        Image(default("nginx"), [base]),
        # Those that the pages of docs/coming-from name, or what does the same.
        *(Image(name, [base]) for name in ("busybox", "alpine")),
        Image("nginx:1.12.2", [base, _NOBODY], {"Entrypoint": ["nginx", "-g", _NGINX]}),
        Image("nginx/nginx-prometheus-exporter:1.5.1", [base], {"Entrypoint": ["prometheus-nginx-exporter"]}),
        *(Image(name, [{"app": app}], {"Entrypoint": ["/app"]}) for name in _APPS),
    ]
    for template, program, path, more in (
        ("envoy", "envoy", "usr/local/bin/envoy", [bash]),
        ("oauth2-proxy", "oauth2-proxy", "usr/local/bin/oauth2-proxy", []),
        ("cloud-sql-proxy", "cloud-sql-proxy", "cloud-sql-proxy", []),
        ("otel-collector", "otelcol", "otelcol", []),
        ("vault-agent", "vault", "bin/vault", [shell]),
        ("fluent-bit", "fluent-bit", "fluent-bit/bin/fluent-bit", []),
        ("agones-sdk", "sdk-server", "usr/local/bin/sdk-server", []),
    ):
        if file := parts.find(program):
            if program == "envoy":
                images.append(Image("envoyproxy/envoy:distroless-v1.40.0", [libraries, {path: file}]))
            config = {"Entrypoint": [f"/{path}"]} if program in _ENTRY_POINTS else {}
            images.append(Image(default(template), [libraries, *more, {path: file}], config))
    made_of = [(image.name, _identity(image)) for image in images]
    return _kept(folder / "images", "gallery", [Path(__file__).read_text(), made_of], lambda to: write(images, to))


def _files(root: Path, *patterns: str) -> dict[str, Path]:
    """The files of a folder, by their paths in it."""
    found = [file for pattern in patterns for file in sorted(root.glob(pattern)) if file.is_file()]
    return {str(file.relative_to(root)): file for file in found}


def _identity(image: Image) -> list[Any]:
    files = [[layer] if isinstance(layer, Path) else layer.values() for layer in image.layers]
    return [(str(file), file.stat().st_mtime_ns, file.stat().st_size) for layer in files for file in layer]


def _kept(folder: Path, kind: str, made_of: Any, make: Any) -> Path:
    """The archive in the cache for this content, made if it is not there. Of each kind, the last few are kept."""
    key = hashlib.sha256(json.dumps(made_of, default=str).encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    target = folder / f"{kind}-{key}.tar"
    if not target.exists():
        unfinished = folder / f"unfinished-{os.getpid()}.tar"
        make(unfinished)
        unfinished.rename(target)
    target.touch()
    for old in sorted(folder.glob(f"{kind}-*.tar"), key=lambda file: -file.stat().st_mtime)[_KEPT:]:
        old.unlink()
    return target


# ---------------------------------------------------------------- OCI archives


def write(images: Sequence[Image], target: Path) -> None:
    """One archive with all the images; a layer that several have is in it once."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch, tarfile.open(target, "w") as archive:
        layers: dict[str, tuple[str, int]] = {}
        manifests = []

        def add(path: str, data: bytes) -> None:
            info = tarfile.TarInfo(path)
            info.size = len(data)
            archive.addfile(info, BytesIO(data))

        def blob(media_type: str, value: Any) -> dict[str, Any]:
            data = json.dumps(value).encode()
            digest = hashlib.sha256(data).hexdigest()
            add(f"blobs/sha256/{digest}", data)
            return {"mediaType": _TYPE + media_type, "digest": f"sha256:{digest}", "size": len(data)}

        for image in images:
            made = []
            for layer in image.layers:
                key = str(layer)
                if key not in layers:
                    file = _layer(layer, Path(scratch))
                    with file.open("rb") as content:
                        digest = hashlib.file_digest(content, "sha256").hexdigest()
                    layers[key] = (f"sha256:{digest}", file.stat().st_size)
                    archive.add(file, f"blobs/sha256/{digest}")
                made.append(layers[key])
            config = blob(
                "config.v1+json",
                {
                    "architecture": _architecture(),
                    "os": "linux",
                    "config": {"Env": [_PATH], **image.config},
                    "rootfs": {"type": "layers", "diff_ids": [digest for digest, _ in made]},
                    "history": [{"created_by": "tests/node/images.py"} for _ in made],
                },
            )
            described = [{"mediaType": _TYPE + "layer.v1.tar", "digest": digest, "size": size} for digest, size in made]
            manifest = blob(
                "manifest.v1+json",
                {"schemaVersion": 2, "mediaType": _TYPE + "manifest.v1+json", "config": config, "layers": described},
            )
            names = {
                "io.containerd.image.name": full_name(image.name),
                "org.opencontainers.image.ref.name": image.name.rpartition(":")[2],
            }
            platform = {"architecture": _architecture(), "os": "linux"}
            manifests.append({**manifest, "platform": platform, "annotations": names})
        add("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
        add("index.json", json.dumps({"schemaVersion": 2, "manifests": manifests}).encode())


def _layer(layer: Path | Mapping[str, Path], scratch: Path) -> Path:
    fd, name = tempfile.mkstemp(dir=scratch)
    os.close(fd)
    if isinstance(layer, Path):
        options = ["--numeric-owner", "--sort=name", "--mtime=@0", "--xattrs"]
        subprocess.run(["tar", *options, "-C", layer, "-cf", name, "."], check=True)
    else:
        with tarfile.open(name, "w") as archive:
            for path, file in layer.items():
                info = archive.gettarinfo(file, path)
                info.mode, info.uid, info.gid, info.mtime = 0o755, 0, 0, 0
                with file.open("rb") as content:
                    archive.addfile(info, content)
    return Path(name)


@cache
def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]


# ---------------------------------------------------------------- the injector's own


def injector(folder: Path, project: Path = ROOT, version: str | None = None) -> Path:
    """The archive with the image that buildah makes of a checkout's Dockerfile. Needs a package index."""
    copied = ["Dockerfile", "requirements.lock", "LICENSE", "injector", "templates"]
    files = sorted(file for name in copied for file in [project / name, *(project / name).rglob("*")] if file.is_file())
    sources = [file for file in files if file.suffix != ".pyc" and "__pycache__" not in file.parts]
    content = [(str(file.relative_to(project)), hashlib.sha256(file.read_bytes()).hexdigest()) for file in sources]
    chart = yaml.safe_load((project / "deploy/chart/Chart.yaml").read_text())
    name = f"{INJECTOR}:{version or chart['appVersion']}"
    return _kept(folder / "images", "injector", ["OCI", name, content], lambda to: _build(folder, project, name, to))


def copy_sources(target: Path) -> None:
    """Copy what the image is made of, for a test that changes some of it."""
    for name in ("injector", "templates", "deploy"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Dockerfile", "requirements.lock", "LICENSE"):
        shutil.copy(ROOT / name, target)


def _build(folder: Path, project: Path, name: str, target: Path) -> None:
    with _built(folder, project, name) as run:
        run("push", "--quiet", "--disable-compression", name, f"oci-archive:{target}:{name}")


@contextmanager
def kit(folder: Path) -> Iterator[Callable[..., str]]:
    """Calls a shell in a container of the Dockerfile's target `kit`, with a folder as its /work."""
    name = f"{INJECTOR}-kit:1"
    with _built(folder, ROOT, name, "--target=kit") as run:
        container = run("from", "--pull-never", name).strip()

        def call(work: Path, script: str) -> str:
            return run("run", f"--volume={work}:/work:ro", container, "--", "sh", "-ec", script)

        try:
            yield call
        finally:
            run("rm", container)


@contextmanager
def _built(folder: Path, project: Path, name: str, *options: str) -> Iterator[Callable[..., str]]:
    """Buildah, which has built this image of a checkout's Dockerfile."""
    (folder / "images").mkdir(exist_ok=True)
    with _buildah(folder) as run:
        for root, base in (("python", "docker.io/library/python:3.11-slim-bookworm"),
                           ("python-nonroot", "gcr.io/distroless/python3-debian12:nonroot")):  # fmt: skip
            archive = folder / "images" / f"{root}.tar"
            if not archive.exists():
                write([Image(base, [folder / "roots" / root])], archive)
            image = run("pull", "--quiet", f"oci-archive:{archive}").strip()
            run("tag", image, base)
        # The machine's own way to its package index, for the build alone.
        mounts = [f"--volume={path}:{path}:ro" for path in ("/etc/ssl/certs", "/etc/pip.conf") if Path(path).exists()]
        run("build", "--layers", "--pull-never", "--network=host", *mounts, *options, f"--tag={name}", str(project))
        yield run


@contextmanager
def _buildah(folder: Path) -> Iterator[Callable[..., str]]:
    """Calls buildah without a registry or any settings of the machine; what it keeps stays for the next build."""
    state = folder / "buildah"
    state.mkdir(exist_ok=True)
    (state / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    (state / "registries.conf").write_text("unqualified-search-registries = []\n")
    storage = {"driver": "overlay", "runroot": f"{state}/run", "graphroot": f"{state}/storage"}
    lines = [f'{key} = "{value}"' for key, value in storage.items()]
    (state / "storage.conf").write_text("\n".join(["[storage]", *lines, ""]))
    debian = folder / "debian"
    libraries = "/usr/lib/x86_64-linux-gnu" if _architecture() == "amd64" else "/usr/lib/aarch64-linux-gnu"
    env = {
        **os.environ,
        "CONTAINERS_REGISTRIES_CONF": str(state / "registries.conf"),
        "CONTAINERS_STORAGE_CONF": str(state / "storage.conf"),
        "BUILDAH_ISOLATION": "chroot",
        "TMPDIR": str(state),
        "PATH": os.pathsep.join(
            [f"{debian}/bin", f"{debian}/root/usr/bin", f"{debian}/root/usr/sbin", os.environ["PATH"], "/usr/sbin"]
        ),
    }
    # It starts itself again without LD_LIBRARY_PATH, so its libraries are laid over the machine's, for it alone.
    lay = f"mount -t overlay -o lowerdir={debian}/root{libraries}:{libraries} libraries {libraries}"
    inside = ["unshare", "--mount", "--propagation=private", "sh", "-ec", f'{lay}; exec "$@"', "sh", "buildah"]

    def run(command: str, *words: str) -> str:
        policy = [] if command in ("tag", "run", "rm") else [f"--signature-policy={state}/policy.json"]
        for _ in range(_TRIES):
            done = subprocess.run([*inside, command, *policy, *words], env=env, capture_output=True, text=True)
            if done.returncode == 0 or _NOT_SEALED not in done.stderr:
                break
        if done.returncode:
            raise RuntimeError(f"buildah {command}: {done.stderr[-3000:]}")
        return done.stdout

    try:
        yield run
    finally:
        shutil.rmtree(state / "run", ignore_errors=True)
