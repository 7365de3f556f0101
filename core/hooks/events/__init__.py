"""What can stand in a log: one frozen class per event type, and the line that carries it."""
