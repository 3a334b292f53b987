from shop.price import show_price


def offer(item):
    # As show_price has it.
    return "only " + show_price(item)
