def with_tax(price, rate=0.19):
    return price * (1 + rate)
