"""The fix for a sink that cannot be written, by the error of the operating system."""

from __future__ import annotations

import errno

_IN_THE_WAY = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR)
_NO_PERMISSION = (errno.EACCES, errno.EPERM)
UNUSABLE = (*_IN_THE_WAY, *_NO_PERMISSION)  # errors that a retry cannot correct
_THEN = "and run again: the batch is then written again."


def write_error_fix(error: OSError) -> str:
    """Returns what to do about an error of a sink."""
    if error.errno in _IN_THE_WAY:
        return f"Remove the file or folder of that name, or change the path of the sink, {_THEN}"
    if error.errno in _NO_PERMISSION:
        return f"Make the folder of the sink writable {_THEN}"
    return f"Correct the cause {_THEN}"
