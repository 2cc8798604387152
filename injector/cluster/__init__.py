"""The Kubernetes API: client, reflector, namespaces, config maps. Everything here does I/O."""
