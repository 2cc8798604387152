"""What editors show while somebody writes a template: diagnostics, completion, hover, definitions, renames, fixes."""
