"""Checks and readings that keep a run honest: pure functions over text and passages, standard library only."""
