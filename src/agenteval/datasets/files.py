"""From a file to its text."""

from pathlib import Path

from agenteval.domain.errors import InputError

MAX_BYTES = 20 * 1024 * 1024

_OF_SHELL = {("/", "dev", "fd"), ("/", "dev", "stdin"), ("/", "proc", "self")}
_BINARY = {
    b"PK\x03\x04": ("is an Excel workbook or another zip file", "save the sheet as 'CSV UTF-8' and give that file"),
    b"\xd0\xcf\x11\xe0": ("is an old Excel workbook", "save the sheet as 'CSV UTF-8' and give that file"),
    b"\xff\xfe": ("is UTF-16: byte 0 is no UTF-8", "save it as UTF-8"),
    b"\xfe\xff": ("is UTF-16: byte 0 is no UTF-8", "save it as UTF-8"),
}


def read(path: Path) -> bytes:
    """Raises InputError for a file that cannot be read or has more than 20 MiB. Of what is no file only the pipes of a
    shell are read, such as `/dev/stdin` and those of `<(...)`: a named pipe may wait for its writer for ever."""
    if not path.is_file() and not path.is_dir() and path.exists() and path.absolute().parts[:3] not in _OF_SHELL:
        raise InputError("is a pipe or a device, not a file", where=str(path), fix=f"give /dev/stdin, and < {path}")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot be read: {reason}", where=str(path)) from error
    return data


def decode(data: bytes, name: str, encoding: str = "utf-8") -> str:
    """The text, without a byte order mark. Raises InputError saying at which byte it is not in `encoding`."""
    if len(data) > MAX_BYTES:
        raise InputError("has more than 20 MiB", where=name, fix="split it")
    if encoding.lower() in {"utf-8", "utf8", "utf-8-sig"}:
        encoding = "utf-8-sig"
        for start, (message, fix) in _BINARY.items():
            if data.startswith(start):
                raise InputError(message, where=name, fix=fix)
        if b"\0" in data[:4]:
            raise InputError(f"is UTF-16: byte {data.index(0)} is 0", where=name, fix="save it as UTF-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        message = f"is not {encoding.removesuffix('-sig').upper()}: byte {error.start} does not fit"
        raise InputError(message, where=name, fix=_advice(data)) from error
    except (LookupError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", where=name) from error


def _advice(data: bytes) -> str:
    try:
        data.decode("gb18030")
    except UnicodeDecodeError:
        return "save it as UTF-8"
    return "it may be GBK; save it as UTF-8"
