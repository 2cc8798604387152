"""After an outage: one replica gives pods that lack their sidecars successors, by itself (`repair` in the settings).

`missing_pods.py` finds them, and `repair.py` has them evicted by the steps of `injector rollout`, with the brake.
"""
