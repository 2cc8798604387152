"""Workloads get new pods, so that these have the current sidecars: slowly, and it stops where it hurts.

`plan.py` says which workload is given new pods by what means, `marked_workload.py` how far one is and whether it is
sick, `rollout_marks.py` what a rollout writes on a workload, `steps.py` what a pod would get now and the way of one
workload, and `rollouts.py` that of all, with the limits and the brake.

After an outage one replica does that by itself (`repair` in the settings) for the pods that `pod_states.py` finds:
`repair.py` has them evicted, and `lease_brake.py` keeps the brake on its Lease.
"""
