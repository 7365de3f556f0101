"""References and templates (`${a.output}`), and CEL: what a definition may say about values."""
