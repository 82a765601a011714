"""The numeric core: pure numpy over arrays of shape (n,); no clock, no I/O, no logging, nothing else of memrank."""
