from shop.price import show_price


def bill(items):
    return [show_price(item) for item in items]
