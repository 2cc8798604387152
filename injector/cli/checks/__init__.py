"""What `injector check` looks at: one module a section, each of functions from a CheckContext to verdicts."""
