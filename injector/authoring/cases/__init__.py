"""Cases: a pod that goes in, and what has to come out. What `injector test` reads, runs and tells."""
