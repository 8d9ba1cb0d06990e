"""Errors that a user can act on: one sentence each, naming file, topic, message and field."""


class VehIdError(Exception):
    """Base of all errors of this package; the command line prints it without a traceback."""

    exit_status = 1


class InputError(VehIdError):
    """The input (a file, a recording, a model) cannot be used; the sentence says why."""


class UsageError(VehIdError):
    """The program was called wrongly (an unknown option, parameter or name)."""

    exit_status = 2


class ModelError(InputError):
    """A model description (Denavit-Hartenberg table, URDF) is inconsistent."""


class BagError(InputError):
    """A recording cannot be read or written."""


class MessageError(InputError):
    """A message type is unknown or a message does not hold what its type says."""


class ParameterError(UsageError):
    """A node parameter is unknown, of the wrong type or out of range."""


class EstimationError(InputError):
    """An estimate cannot be computed from the data (too few samples, no excitation ...)."""


class SignalError(InputError):
    """A signal cannot be processed as asked (cut-off beyond Nyquist, too short ...)."""


def one_line(error: BaseException) -> str:
    """The text of another library's error on one line, without a full stop at the end."""
    return ' '.join(str(error).split()).rstrip('.') or type(error).__name__
