"""The runtime: one driver moves a run, does what the kernel decides and records what happens."""
