"""How facts look: text for people, JSON documents for programs. Nothing here decides or reads a run."""
