"""What can go wrong while the guest is built, each with the fact and the next step.

BuildError
├── SourcesError            sources.toml cannot be used
├── HashMismatchError       a fetched archive is not the pinned one
├── CommandFailedError      pip, npm or the compiler ended with an error
├── ToolError               a build tool is missing or has another version
├── ArchiveError            a verified archive does not hold what we need
├── PatchError              a patch's anchor is not there exactly once
└── PreinitError            the compiled guest cannot be pre-initialised
"""

import enum

TAIL_LINES = 15  # of a failed command's output: enough for the cause, short enough to read


class BuildError(Exception):
    """The guest could not be built; `hint` is the next step."""

    def __init__(self, message: str, hint: str) -> None:
        """Join the fact and the next step, so that a bare traceback shows both."""
        super().__init__(f"{message}\nhint: {hint}")

    def report(self) -> str:
        """Give the words for a terminal."""
        return f"error: {self}"


class SourcesError(BuildError):
    """A key of sources.toml is missing or has the wrong type."""

    def __init__(self, place: str, expected: str) -> None:
        """Name the place and what belongs there."""
        super().__init__(
            f"guest_runtime/sources.toml: {place} must be {expected}",
            "compare it with the entries beside it",
        )


class HashMismatchError(BuildError):
    """A fetched archive is not the one that was pinned; it has not been unpacked."""

    def __init__(self, package: str, version: str, expected: str, got: str) -> None:
        """State what was fetched and both hashes."""
        super().__init__(
            f"refused {package} {version}: its sha256 is not the pinned one\n"
            f"  expected {expected}\n  got      {got}",
            "somebody changed the archive, or the pin is wrong. If you just changed the version, "
            "check the new hash on a second machine and write it into guest_runtime/sources.toml; "
            "otherwise do not build, and report it",
        )


class CommandFailedError(BuildError):
    """A command that the build needs ended with an error."""

    def __init__(self, command: str, code: int, output: str) -> None:
        """Show the command and the end of what it said."""
        self.output = output
        tail = "\n".join(f"  {line}" for line in output.strip().splitlines()[-TAIL_LINES:])
        super().__init__(
            f"`{command}` ended with code {code}\n{tail}",
            "the lines above say why; if it was pip or npm, check that it works on its own",
        )


class ToolError(BuildError):
    """A build tool is not installed in the version that sources.toml names."""

    def __init__(self, tool: str, wanted: str, found: str | None) -> None:
        """Name the tool, the version wanted and the one found."""
        super().__init__(
            f"building the guest needs {tool} {wanted}, found {found or 'none'}",
            f"pip install {tool}=={wanted}   (`pip install .` brings it by itself)",
        )


class ArchiveError(BuildError):
    """A verified archive lacks something; the package changed its layout."""

    def __init__(self, package: str, lacking: str) -> None:
        """Name the package and what is not in it."""
        super().__init__(
            f"{package} does not hold {lacking}",
            "the package changed its layout: adapt guest_runtime/fetch.py",
        )


class PatchError(BuildError):
    """A patch does not fit the source it was written for."""

    def __init__(self, file: str, find: str, count: int) -> None:
        """Quote the anchor and say how often it occurs."""
        super().__init__(
            f"patch of {file}: its `find` text occurs {count} times, must be exactly once\n"
            f"  {find.strip().splitlines()[0] if find.strip() else '(empty)'}",
            "look at the new source and rewrite the [[patch]] entry in guest_runtime/sources.toml",
        )


class Rule(enum.StrEnum):
    """What a guest must hold to so that its memory can be baked into it."""

    CORE_MODULE = "it is a core wasm module"
    ONLY_FUNCTION_IMPORTS = "it imports only functions"
    ONE_PLAIN_MEMORY = "it has one memory, 32-bit and not shared"
    MEMORY_EXPORTED = "it exports its memory as `memory`"
    DATA_SECTION = "it has a data section"
    ACTIVE_SEGMENTS = "all its data segments are active"
    PLAIN_CONSTANTS = "its constant expressions are one plain number"
    NUMBER_GLOBALS = "all its globals are numbers"
    GLOBALS_AT_REST = "initialisation leaves every mutable global at its initial value"
    STACK_FITS = "its first global is the stack pointer, above a whole stack"
    INITIALISERS = "it exports `_initialize` and `pml_init`, which end with 0"
    NO_HOST_CALLS = "initialisation asks the host only for clock, random bytes and folders"


class PreinitError(BuildError):
    """The guest breaks a rule that a pre-initialised image depends on."""

    def __init__(self, rule: Rule, found: object) -> None:
        """State the rule and what was found instead."""
        super().__init__(
            f"cannot pre-initialise the guest; the rule: {rule}; found: {found}",
            "see the rules at the top of guest_runtime/preinit.py",
        )
