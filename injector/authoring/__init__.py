"""For template authors: new, lint, test, docs. Over the same core as the webhook, and without a cluster."""
