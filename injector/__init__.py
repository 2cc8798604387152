"""Templated sidecars for Kubernetes pods: an admission webhook, and the same core as a command line tool."""

__version__ = "0.1.0"
