"""`injector lint`: mistakes in a template that no pod should be the first to meet."""
