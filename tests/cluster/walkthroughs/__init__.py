"""docs/coming-from/, typed from the first to the last command against the real control plane."""
