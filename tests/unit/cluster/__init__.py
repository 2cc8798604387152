"""What the cluster package does when the API server does not behave: faults that a real one cannot be made to show."""
