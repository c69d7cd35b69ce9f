"""Every error that a user can cause, each with the exit code that the command line returns for it."""


class TasoError(Exception):
    """A problem the user can mend; the message is one sentence: what was expected, what was found, where."""

    exit_code = 70


class UsageError(TasoError):
    """An option or an argument has a value that the command does not accept."""

    exit_code = 2


class InvalidInputError(TasoError):
    """A file given by the user cannot be read or does not hold what it should."""

    exit_code = 3


class UnsupportedError(TasoError):
    """A package, device or runtime feature that the request needs is not available on this machine."""

    exit_code = 4


class RuntimeFailure(TasoError):
    """A runtime refused a model, or crashed or overran its limit on one, which ended its child process."""

    exit_code = 4


class LostProcessError(TasoError):
    """A process that worked for a command was ended from outside, by a system short of memory say."""

    exit_code = 4


class UncheckableError(RuntimeFailure):
    """The user's own model does not run on the inputs of the check, so that nothing can be compared with it."""


class MismatchError(TasoError):
    """The rewritten model does not compute what the original computes, so nothing was written.

    `evidence` is what is known about it: the record of the run where there is one.
    """

    exit_code = 1

    def __init__(self, message: str, evidence: object = None) -> None:
        super().__init__(message)
        self.evidence = evidence


class SpecError(TasoError):
    """An operator specification contradicts itself or asks for something that cannot be typed."""

    exit_code = 3


class TypeMismatch(SpecError):
    """Operands or attributes do not fit an operator; raised by type inference and caught by enumeration."""


class RuleError(TasoError):
    """A rule text or a rule file is malformed."""

    exit_code = 3
