"""Fitted numbers that ship with the package."""
