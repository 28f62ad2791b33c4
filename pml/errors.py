"""What can go wrong before or around a run, one class per situation a caller can act on.

    PmlError
    ├── UsageError                the command line cannot be carried out as it is written
    │   ├── ProgramUnclearError       program_unclear: a file and code, or neither
    │   ├── ArgsInvalidError          args_invalid: `--args` is no JSON
    │   ├── LimitInvalidError         limit_invalid: a limit that cannot work
    │   ├── ExposeInvalidError        expose_invalid: `--expose` names no pattern of tools
    │   └── NameForManyError          name_for_many: `--name` with several files
    ├── SourceError               the program cannot be read
    │   ├── SourceUnreadableError     source_unreadable
    │   ├── SourceNotTextError        source_not_text
    │   └── SourceTooLargeError       source_too_large
    ├── OutputLostError           output_lost: the result cannot be written
    ├── NoConfigurationError      no_configuration: there is no `.pml.json`
    ├── MountRefusedError         mount_refused: PML's own state is in the folder
    ├── PlaceUnsafeError          place_unsafe: a folder of ours that others could have made
    ├── TerminalNeededError       terminal_needed: only a human at a terminal may do this
    ├── CallDeniedError           call_denied: the policy or the human said no
    ├── NeedMovedError            need_moved: a yes was for something else than it lacks now
    ├── FrozenError               frozen: a call needs something new, which --frozen forbids
    ├── WorkspaceError            `pml/workspace.py`
    ├── NamingError               `pml/fqdn.py`
    ├── PolicyError               `pml/policy/errors.py`
    ├── RoutingError              `pml/routing/errors.py`
    ├── LockfileError             `pml/loader/lockfile/errors.py`
    ├── TrustError                `pml/trust/errors.py`
    ├── ConfigError               `pml/config/errors.py`
    ├── ConfinementError          `pml/confinement/errors.py`
    ├── WorkflowError             `pml/execution/errors.py`
    ├── InstallError              `pml/loader/installer/errors.py`
    ├── BackendError              `pml/backends/errors.py`
    ├── LoaderError               `pml/loader/errors.py`, `pml/loader/publishing/errors.py`
    ├── PinError                  `pml/loader/pins/errors.py`
    ├── NestingError              `pml/execution/nesting.py`
    ├── GatewayError              `pml/gateway/errors.py`
    ├── CloudError                `pml/cloud/errors.py`, `pml/cloud/tools/errors.py`
    ├── OnboardingError           `pml/onboarding/errors.py`
    ├── DiagnosisError            `pml/diagnosis/errors.py`
    └── MeasuringError            `pml/measuring/errors.py`

What goes wrong inside a run is a `sandbox_host.SandboxError`, with the same attributes.
"""


class PmlError(Exception):
    """Base: a stable `code`, a `message` that states the fact, perhaps a `hint` and a place."""

    code = "pml_error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Keep the facts; the message alone is what `str()` shows."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column


class UsageError(PmlError):
    """The command line cannot be carried out as it is written."""

    code = "usage"


class ProgramUnclearError(UsageError):
    """There is no program to run, or two."""

    code = "program_unclear"

    def __init__(self, *, both: bool) -> None:
        """Say which of the two it is."""
        super().__init__(
            "both FILE and -e were given" if both else "no program was given",
            hint="pml run FILE, pml run -e CODE, or pml run - to read it from stdin",
        )


class ArgsInvalidError(UsageError):
    """The program's arguments are no JSON."""

    code = "args_invalid"

    def __init__(self, reason: str, *, line: int | None = None, column: int | None = None) -> None:
        """Name the reason and the place."""
        super().__init__(
            f"--args is not JSON: {reason}",
            hint='quote it for the shell: --args \'{"name": "value"}\'',
            line=line,
            column=column,
        )


class LimitInvalidError(UsageError):
    """A limit that no run can have."""

    code = "limit_invalid"

    def __init__(self, option: str, value: float, rule: str) -> None:
        """Name the option and what it may be."""
        super().__init__(f"{option} {value:g} cannot work: it must be {rule}")


class ExposeInvalidError(UsageError):
    """A tool that cannot be exposed so, or none at all."""

    code = "expose_invalid"

    def __init__(self, pattern: str | None = None, hint: str | None = None) -> None:
        """Name the pattern; None: there is none where one is needed."""
        fact = "--only offers nothing without --expose"
        super().__init__(
            fact if pattern is None else f"--expose {pattern}: not a pattern of tools", hint=hint
        )


class NameForManyError(UsageError):
    """One name cannot be that of several files."""

    code = "name_for_many"

    def __init__(self) -> None:
        """Say where several have theirs."""
        super().__init__(
            "--name is the name of one file",
            hint='publish one at a time, or write "fqdn" into each',
        )


class SourceError(PmlError):
    """The program cannot be read."""

    code = "source"


class SourceUnreadableError(SourceError):
    """The file is not there, or not for us."""

    code = "source_unreadable"

    def __init__(self, name: str, reason: str) -> None:
        """Name file and reason."""
        super().__init__(f"cannot read {name}: {reason}")


class SourceNotTextError(SourceError):
    """The file is neither UTF-8 nor WebAssembly."""

    code = "source_not_text"

    def __init__(self, name: str, position: int) -> None:
        """Name the first byte that is wrong."""
        super().__init__(
            f"{name} is not UTF-8 text: the byte at position {position} cannot be read",
            hint="save it as UTF-8; a WebAssembly module begins with the bytes 00 61 73 6d",
        )


class SourceTooLargeError(SourceError):
    """The file is larger than any program."""

    code = "source_too_large"

    def __init__(self, name: str, most_bytes: int) -> None:
        """Name the bound."""
        super().__init__(f"{name} is larger than {most_bytes >> 20} MiB")


class OutputLostError(PmlError):
    """Stdout does not take the result."""

    code = "output_lost"

    def __init__(self, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"cannot write to stdout: {reason}")


class PlaceUnsafeError(PmlError):
    """A folder for our state is not ours."""

    code = "place_unsafe"

    def __init__(self, path: object, reason: str) -> None:
        """Name the folder and the reason."""
        super().__init__(
            f"{path} cannot hold private state: {reason}",
            hint="remove it, or name another folder in PML_STATE",
        )


class FrozenError(PmlError):
    """A call needs something new, and nothing new is taken."""

    code = "frozen"

    def __init__(self, tool: str, words: str) -> None:
        """Name the tool, and what it lacks."""
        super().__init__(
            f"`{tool}` was not called, as nothing new is taken with --frozen: {words}",
            hint="run it without --frozen where you can be asked, then again",
        )


class NeedMovedError(PmlError):
    """What a call lacks is no longer what the human said yes to."""

    code = "need_moved"

    def __init__(self, tool: str, words: str) -> None:
        """Name the tool, and what it lacks now."""
        super().__init__(
            f"`{tool}` was not called: it lacks something else by now: {words}",
            hint="make the call again: the user is asked about what it is now",
        )


class CallDeniedError(PmlError):
    """A call that must not be made."""

    code = "call_denied"

    def __init__(self, tool: str, rule: str | None = None, place: str | None = None) -> None:
        """Name the tool, and the rule; without one it was the human who said no."""
        where = f" in `{place}`" if place else ""
        by = f"is denied by rule `{rule}`{where}" if rule else "was not approved"
        super().__init__(f"the call of `{tool}` {by}")


class NoConfigurationError(PmlError):
    """There is no configuration where one is needed."""

    code = "no_configuration"

    def __init__(self, path: object) -> None:
        """Name where it was looked for."""
        super().__init__(
            f"no servers are configured: there is no {path}",
            hint='write one: {"mcpServers": {"time": {"command": "mcp-server-time"}}}',
        )


class TerminalNeededError(PmlError):
    """Only a human at a terminal may do this."""

    code = "terminal_needed"

    def __init__(self, command: str) -> None:
        """Name the command."""
        super().__init__(
            f"pml {command} needs a terminal: only you can give your word",
            hint="run it yourself, in a terminal",
        )


class MountRefusedError(PmlError):
    """A folder that no program may see."""

    code = "mount_refused"

    def __init__(self, path: object) -> None:
        """Name it."""
        super().__init__(
            f"{path} cannot be mounted: PML's own state is in it",
            hint="mount the folder that the program needs, not one above it",
        )
