"""When a number is another one rounded, or within the bounds that words set it."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

_FAR = Decimal("0.25")
"""How far from a bound a number may lie and still be what it bounds: `more than 20` is said of 24, not of 500."""


def decimals_left_out(claimed: Decimal, found: Decimal) -> bool:
    """Return whether the claimed value is the found one with fewer decimals."""
    places = max(0, -_place(claimed))
    return -_place(found) > places and round(found, places) == claimed


def rounded(claimed: Decimal, found: Decimal, *, digits: int) -> bool:
    """Return whether a number of at least so many digits is another, rounded at its last digit that counts."""
    claimed, found = claimed.normalize(), found.normalize()
    place = _place(claimed)
    if not claimed or len(claimed.as_tuple().digits) < digits or _place(found) >= place:
        return False
    return (found.scaleb(-place)).to_integral_value(ROUND_HALF_UP).scaleb(place) == claimed


def within(claimed: Decimal, found: Decimal, bound: str) -> bool:
    """Return whether what a passage says is what a claim bounds: not beyond the bound, and not far from it."""
    if bound in ("about", "near") and rounded(claimed, found, digits=1):
        return True
    match bound:
        case "least":
            last = Decimal(1).scaleb(_place(claimed.normalize()))
            return claimed <= found <= claimed + max(_FAR * abs(claimed), last)
        case "most" | "near":
            return claimed - _FAR * abs(claimed) <= found <= claimed
    return False


def same_digits(one: Decimal, other: Decimal) -> bool:
    """Return whether two numbers differ by their scale alone: 25 and 0.25."""
    return one.normalize().as_tuple().digits == other.normalize().as_tuple().digits


def _place(value: Decimal) -> int:
    """Return the power of ten of the last digit."""
    return int(value.as_tuple().exponent)
