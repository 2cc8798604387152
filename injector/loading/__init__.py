"""Templates from outside: read from folders, loaded within limits, and tried in a child process."""
