"""What earlier releases wrote, one folder each, and that the present code still takes it.

`0.1.0` was written by commit 3316edfdd88d87b3d886c6fde17f11e85c56efd8. Nothing in these folders ever changes.

- `settings/`: settings files, each beside what that release read from it.
- `templates.yaml`: templates as ConfigMaps of the injector's namespace.
- `pods/`: folders with a pod `before.yaml` and `after.yaml` its creation, by these templates; `case.yaml` has settings,
  version and namespace where they are other than by default. Receipts are sealed by the key in `seal.key`.
- `manifests/`: manifests before and after `injector inject --templates setup,logger`.
- `values/`: values of the chart.
"""
