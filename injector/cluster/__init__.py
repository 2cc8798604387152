"""The Kubernetes API and what is done by it: reading the cluster, config maps, Events, the built-in certificates."""
