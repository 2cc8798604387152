"""Manifests of every kind, as people have them, and what the command line must make of each."""
