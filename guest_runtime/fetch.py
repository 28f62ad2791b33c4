"""Brings the pinned archives here with the ordinary pip and npm clients, and unpacks them.

Nothing is unpacked, and no code of a package runs, before its sha256 has been compared. Verified
archives are kept by hash, so that a change to our own sources needs no network. Which registry is
asked is the clients' own configuration; this module does not know.
"""

import base64
import binascii
import contextlib
import hashlib
import re
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from guest_runtime import commands
from guest_runtime.errors import ArchiveError, CommandFailedError, HashMismatchError
from guest_runtime.sources import Archive, Sources

WASM_MAGIC = b"\0asm"

_ONE_ARCHIVE = "exactly one source archive"
_ONE_FOLDER = "exactly one top folder"
_ERASER = "the eraser's wasm module as base64 in wasm.js"

_PIP_GOT_HASH = re.compile(r"Got\s+([0-9a-f]{64})")
# The longest base64 text in the eraser's wasm.js; it starts with the magic ("\0asm" is AGFzbQ).
_EMBEDDED_WASM = re.compile(r"""['"`](AGFzbQ[A-Za-z0-9+/]+={0,2})['"`]""")

Client = Callable[[Archive, Path], None]


def fetch_quickjs(sources: Sources, downloads: Path, work: Path) -> Path:
    """Give the folder of the unpacked QuickJS package."""
    return unpack(obtain(sources.quickjs, downloads, pip_download), work / "quickjs")


def fetch_eraser(sources: Sources, downloads: Path, work: Path) -> Path:
    """Give the folder of the unpacked TypeScript eraser package."""
    return unpack(obtain(sources.eraser, downloads, npm_pack), work / "eraser")


def is_kept(archive: Archive, downloads: Path) -> bool:
    """Tell whether the verified archive is here already (then its client is not needed)."""
    kept = downloads / archive.sha256
    return kept.is_file() and sha256_of(kept) == archive.sha256


def obtain(archive: Archive, downloads: Path, client: Client) -> Path:
    """Give the path of the verified archive, asking `client` only when it is not kept."""
    kept = downloads / archive.sha256
    if is_kept(archive, downloads):
        return kept
    downloads.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=downloads) as folder:
        client(archive, Path(folder))
        fetched = [path for path in Path(folder).iterdir() if path.suffix in {".gz", ".tgz"}]
        if len(fetched) != 1:
            raise ArchiveError(archive.package, _ONE_ARCHIVE)
        verify(archive, fetched[0])
        fetched[0].replace(kept)
    return kept


def verify(archive: Archive, path: Path) -> None:
    """Refuse a file that is not the pinned archive."""
    got = sha256_of(path)
    if got != archive.sha256:
        raise HashMismatchError(archive.package, archive.version, archive.sha256, got)


def sha256_of(path: Path) -> str:
    """Give the sha256 of a file as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pip_download(archive: Archive, folder: Path) -> None:
    """Fetch a source distribution; pip itself refuses a wrong hash before it looks inside.

    That order matters: `pip download` runs the package's metadata step, which is its own code.
    """
    requirements = folder / "requirements.txt"
    requirements.write_text(
        f"{archive.package}=={archive.version} --hash=sha256:{archive.sha256}\n", encoding="utf-8"
    )
    options = ["--no-deps", "--no-binary", archive.package, "--require-hashes"]
    command = ["-m", "pip", "--disable-pip-version-check", "download", *options]
    try:
        commands.run(commands.python(*command, "-r", str(requirements), "-d", str(folder)))
    except CommandFailedError as error:
        if got := _PIP_GOT_HASH.search(error.output):
            raise HashMismatchError(
                archive.package, archive.version, archive.sha256, got[1]
            ) from None
        raise


def npm_pack(archive: Archive, folder: Path) -> None:
    """Fetch an npm package's archive as the registry serves it; nothing of it is run."""
    spec = f"{archive.package}@{archive.version}"
    # The empty folder as working directory: no project's .npmrc has a say.
    commands.run(commands.npm("pack", spec, "--ignore-scripts", "--silent"), cwd=folder)


def unpack(archive: Path, target: Path) -> Path:
    """Unpack a verified archive and give its single top folder."""
    with tarfile.open(archive) as tar:
        tar.extractall(target, filter="data")  # refuses absolute paths, links out, devices
    tops = list(target.iterdir())
    if len(tops) != 1:
        raise ArchiveError(archive.name, _ONE_FOLDER)
    return tops[0]


def extract_eraser(package: Path) -> bytes:
    """Give the wasm module that the eraser's npm package carries inside its JavaScript."""
    script = (package / "wasm.js").read_text(encoding="utf-8")
    for match in _EMBEDDED_WASM.finditer(script):
        with contextlib.suppress(binascii.Error):
            module = base64.b64decode(match[1], validate=True)
            if module.startswith(WASM_MAGIC):
                return module
    raise ArchiveError(package.name, _ERASER)


def license_text(package: Path, file: str) -> str:
    """Give a licence file's text; of a C file, its first comment."""
    text = (package / file).read_text(encoding="utf-8")
    return text[: text.index("*/") + 2] if file.endswith((".c", ".h")) else text
