"""Compiled kernels: one recursion over the states of a clip, and one quadratic problem over its paths."""
