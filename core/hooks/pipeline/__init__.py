"""The hook pipeline: hook points, the hooks that listen, and what their answers mean."""
