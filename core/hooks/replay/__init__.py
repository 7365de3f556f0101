"""Replay: what a log says, decided and asked again. Reads runs, changes none."""
