"""Pure functions over pods as plain dicts: no I/O, no clock, no Tornado, no Kubernetes client."""
