"""Runs as traces: the spans of a run, told by its log, in the words of OpenTelemetry."""
