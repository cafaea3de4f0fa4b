"""Sizes, counts and ratios as text."""

from __future__ import annotations


def size_text(count: int) -> str:
    """A number of bytes with a unit.

    >>> size_text(999), size_text(1500), size_text(12_345_678)
    ('999 B', '1.5 kB', '12.3 MB')
    """
    if count < 1000:
        return f"{count} B"
    size, units = count / 1000, ["kB", "MB", "GB", "TB"]
    while size >= 999.95 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.1f} {units[0]}"


def count_text(count: int, noun: str) -> str:
    """A number and its noun.

    >>> count_text(1, "row"), count_text(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ratio_text(before: int, after: int) -> str:
    """The ratio of two sizes; nothing if one of them is 0.

    >>> ratio_text(67, 10), ratio_text(12_345, 1), ratio_text(0, 1)
    ('6.7x', '12,345x', '')
    """
    if not before or not after:
        return ""
    ratio = before / after
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.1f}x"


def smaller_text(before: int, after: int) -> str:
    """A size compared with a larger or smaller one; nothing if one of them is 0.

    >>> smaller_text(67, 10), smaller_text(10, 12), smaller_text(100, 99)
    ('6.7x smaller', '1.2x larger', 'same size')
    """
    if not before or not after:
        return ""
    if ratio_text(max(before, after), min(before, after)) == "1.0x":
        return "same size"
    return f"{ratio_text(before, after)} smaller" if after <= before else f"{ratio_text(after, before)} larger"
