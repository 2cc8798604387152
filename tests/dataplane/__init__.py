"""Tests of the gallery with real traffic: what its templates render is run by real Envoy, nginx and nft."""
