from lib.rules.loyalty import Loyalty


def total(customer, cents):
    # The discount is a percentage.
    return cents * (100 - Loyalty().discount_of(customer)) // 100
