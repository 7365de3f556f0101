"""Agents: what answers a prompt. `base.py` is the contract, one file per kind beside it."""
