def total(items):
    return sum(item.price * item.count for item in items)


def is_empty(items):
    """Whether there is nothing to pay for."""
    return not items
