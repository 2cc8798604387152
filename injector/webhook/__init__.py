"""Admission reviews over HTTPS."""
