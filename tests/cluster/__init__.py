"""Tests against a real Kubernetes control plane, and what they are written with."""
