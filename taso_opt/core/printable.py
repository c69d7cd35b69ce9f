"""Text from files of strangers and from libraries, made fit to be shown."""


def printable(text: str) -> str:
    """The text with whatever a terminal could obey (escapes, controls, changes of direction) spelled out."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def cut_short(text: str, longest: int) -> str:
    """The text as far as so many characters show it, with dots in place of the rest."""
    return text if len(text) <= longest else text[: longest - 3] + "..."
