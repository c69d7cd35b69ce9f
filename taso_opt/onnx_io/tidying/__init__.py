"""Cleans models up without any rule: constants, identities, decided branches, dead nodes."""
