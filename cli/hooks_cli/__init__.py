"""The command line: parse, one call into `hooks`, one call into `render`."""
