"""`injector workbench`: a page on this machine for writing a template, where the language server's answers show."""
