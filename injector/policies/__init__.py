"""Objects of any kind, at the paths of the settings: what is asked, and what the templates there make of it."""
