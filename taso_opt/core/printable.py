"""Text from files of strangers, made fit to be shown."""


def printable(text: str) -> str:
    """The text with whatever a terminal could obey (escapes, controls, changes of direction) spelled out."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
