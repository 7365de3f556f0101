"""Bytes on disk: the log, blobs, locks, run directories, and what survives a crash."""
