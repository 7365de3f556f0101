"""The pure core: state, the one function that folds events into it, and the one that decides what comes next."""
