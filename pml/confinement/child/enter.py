"""Entry of the child: `python -I -S enter.py ROLE POLICY -- COMMAND [ARG...]`.

Roles: `launch` confines itself and becomes the command; `supervise` stays beside a child that does
so; `wrap` stays beside bubblewrap, which has a `launch` of its own inside.

The policy is the hex of a marshalled dict. It is on the command line, which everyone on the
machine can read: it holds paths and numbers, never a secret. Whatever fails here, the server is
not started.
"""

import marshal
import os
import sys

FAILED = 125
"""Exit status when the confinement cannot be laid on; bwrap and `env` use it likewise."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pml.confinement.child import launcher, supervisor
else:
    # Appended: nothing here can stand in for a module of the standard library. Under -I and -S
    # there is no other way to the neighbours, and importing `pml` would load the gateway.
    sys.path.append(os.path.dirname(os.path.dirname(__file__)))
    from child import launcher

    if sys.argv[1:2] != ["launch"]:  # it needs `signal`, which costs milliseconds
        from child import supervisor


def main(arguments: list[str]) -> None:
    """Play the role; does not return."""
    role, policy_hex, _, *command = arguments
    policy = marshal.loads(bytes.fromhex(policy_hex))  # noqa: S302 - from our own gateway
    try:
        if role == "supervise":
            supervisor.supervise(policy["gateway"][0], policy, command)
        elif role == "wrap":
            supervisor.supervise(policy["gateway"][0], None, command)
        launcher.launch(policy, command)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        message = f"pml: cannot start {command[0]}: {error.strerror}{where}\n"
        os.write(2, message.encode("utf-8", "backslashreplace"))
        os._exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
