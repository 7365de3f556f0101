"""Executors: what performs a host_executor node. `base.py` is the contract, one file per kind beside it."""
