"""What belongs to the paper's experiments and to the book: no part of the method needs it.

`experiments` runs the paper's comparison, `stored` finds its tables, `findings` holds them against the paper's claims
and `forest` draws what it finds, `frames` shows figures that move on a page without a kernel, `tables` shows tables,
`real` has the shipped real sets and the methods that the book compares on them.
"""
