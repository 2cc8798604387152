"""Templates out of the sidecar configs of other injectors: what is read, what it becomes, and what is told."""
