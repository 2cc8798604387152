"""What `injector serve` imports: the server's own ring, and nothing of what is for authors or for other commands."""

from __future__ import annotations

import subprocess
import sys

#: The packages and modules directly below `injector` that the server is made of.
RING = {
    "apply", "budget", "caches", "cluster", "diagnostics", "enforcement", "errors", "inject", "injection",
    "library_messages", "loading", "names", "pods", "policies", "reasons", "settings", "strict_decoder", "telemetry",
    "templates", "webhook",
}  # fmt: skip
#: The command itself.
COMMAND = {"injector.cli", "injector.cli.main", "injector.cli.serve"}
MOST = 150


def test_the_server_imports_its_own_ring_alone() -> None:
    code = "import sys, injector.cli.main, injector.cli.serve, injector.webhook.app\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    modules = {name for name in run.stdout.split() if name.partition(".")[0] == "injector"}
    assert "injector.webhook.app" in modules, run.stderr
    others = modules - COMMAND - {"injector"}
    assert {name.split(".")[1] for name in others} <= RING
    assert len(modules) <= MOST
