# The server's image: Python, the locked requirements, the injector. No shell, no compiler, no package manager.
#
#   docker build -t registry.example/sidecar-injector:0.2.0 .
#
# The command for CI, with a shell and what `injector lint` needs:
#
#   docker build --target kit -t registry.example/sidecar-injector-kit:0.2.0 .
#
# All stages are Debian 12 with Python 3.11, so what is installed in the first runs in the others.

FROM docker.io/library/python:3.11-slim-bookworm AS build
WORKDIR /build
COPY requirements.lock ./
# Wheels only: nothing of a dependency is run or compiled here. Each has to have the hash that the lock says.
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore", \
     "--no-compile", "--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement=requirements.lock", "--target=/app"]
COPY injector /app/injector
RUN ["rm", "-rf", "/app/bin"]
COPY templates /app/injector/gallery
# Shipped templates are tried and compiled once, here, and not by every replica that starts.
RUN ["env", "PYTHONPATH=/app", "PYTHONDONTWRITEBYTECODE=1", "python", "-m", "injector.loading.shipped"]
COPY LICENSE /app/
# The root is read-only later, so bytecode is made now; not of the Kubernetes client's typed models, which nobody imports.
RUN ["python", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", \
     "-x", "kubernetes/(aio/)?client/(api|models)/", "/app"]

FROM docker.io/library/python:3.11-slim-bookworm AS kit
WORKDIR /build
COPY requirements-lint.lock ./
RUN ["python", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--root-user-action=ignore", \
     "--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement=requirements-lint.lock", "--target=/app"]
COPY --from=build /app /app
COPY docs /app/injector/docs
RUN printf '#!/bin/sh\nexec python -m injector "$@"\n' >/usr/local/bin/injector && chmod 755 /usr/local/bin/injector
ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
USER 65532:65532
CMD ["injector", "--help"]

FROM gcr.io/distroless/python3-debian12:nonroot
COPY --from=build /app /app
ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# A number, so that Kubernetes can tell that it is not root.
USER 65532:65532
EXPOSE 8443 9443
ENTRYPOINT ["/usr/bin/python3.11", "-m", "injector"]
CMD ["serve"]
