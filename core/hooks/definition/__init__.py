"""Workflow files: reading them with positions, checking everything at once, and the model the runtime trusts."""
