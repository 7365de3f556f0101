"""Durable agent workflows from the shell, with nothing but files."""
