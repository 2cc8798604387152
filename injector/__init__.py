"""Templated sidecars for Kubernetes pods: an admission webhook, and the same core as a command line tool."""

__version__ = "0.2.0"

#: The address of the published documentation, with a slash at its end; empty until there is one. Messages lead there.
DOCUMENTATION = ""

#: Its name in the package index; empty until a release has published it. Before that the name can be a stranger's, so
#: no page and no message may tell anybody to install it from there.
PACKAGE = ""
