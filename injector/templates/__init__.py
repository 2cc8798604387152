"""A template: load it, read its parameters, render it with typed holes in a sandbox, keep a catalog of them."""
