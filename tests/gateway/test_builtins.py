"""Built-ins behind `mcp.*`: what comes with PML, with the same rules as any server."""

from pathlib import Path

import pytest

from pml.backends.std import STD_NAMES
from pml.config.names import BUILTINS

from .conftest import Workspace, accepting, connected


def test_what_can_be_switched_off_is_what_there_is() -> None:
    assert set(BUILTINS) == {*STD_NAMES, "shell"}


async def test_files_of_the_workspace_are_read_and_written_within_it(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["filesystem"]})
    (workspace.path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    code = """
    const {content} = await mcp.filesystem.read_text_file({path: 'a.txt'});
    await mcp.filesystem.write_file({path: 'b.txt', content: content.toUpperCase()});
    const out = [];
    for (const path of ['../state/key', '/etc/passwd', '.git/hooks/x', '.pml.json']) {
      for (const tool of ['read_text_file', 'write_file']) {
        if (tool === 'read_text_file' && path === '.pml.json') continue;
        try { await mcp.filesystem[tool]({path, content: 'x'}); out.push([tool, path]); } catch (e) {}
      }
    }
    return out"""
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code)
    assert facts["result"] == []
    assert (workspace.path / "b.txt").read_text(encoding="utf-8") == "ONE\nTWO\n"
    assert not (workspace.path / ".git" / "hooks").exists()


async def test_pure_capabilities_work_together_in_one_program(workspace: Workspace) -> None:
    workspace.configure(
        permissions={"allow": ["csv", "math", "text", "datetime", "crypto", "diff"]}
    )
    code = """
    const {rows} = await mcp.csv.parse({text: 'item,price\\npen,0.10\\ncup,0.20\\n'});
    const sum = await mcp.math.evaluate_exact({expression: rows.map((row) => row.price).join(' + ')});
    const {text} = await mcp.text.template({template: 'total {{sum}}', values: {sum: sum.text}});
    const day = await mcp.datetime.add({time: '2026-01-31', months: 1});
    const {hex} = await mcp.crypto.hash({text});
    const {added} = await mcp.diff.unified({before: '', after: text});
    return [text, day.date, hex.length, added]"""
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code)
        found = await client.facts("discover", query="sha256 hash of a text")
    assert facts["result"] == ["total 0.3", "2026-02-28", 64, 1]
    assert "crypto:hash" in [tool["id"] for tool in found["tools"]]


async def test_a_command_runs_in_the_workspace_held_by_the_os_sandbox(
    workspace: Workspace,
) -> None:
    """Attack: the command reads the user's files, or speaks to the network."""
    workspace.configure(permissions={"allow": ["shell:exec"]})
    secret = Path.home() / ".pml-test-canary"
    secret.write_text("canary", encoding="utf-8")
    code = f"""
    const run = (command) => mcp.shell.exec({{command, timeoutSeconds: 20}});
    const made = await run('pwd; echo err >&2; echo hi > made.txt; exit 3');
    const stolen = await run('cat {secret}; env');
    return [made, stolen]"""
    try:
        async with connected(workspace) as client:
            facts = await client.facts("execute", code=code)
    finally:
        secret.unlink()
    made, stolen = facts["result"]
    assert made == {
        "exitCode": 3, "output": f"{workspace.path}\nerr\n", "truncated": False, "timedOut": False,
    }  # fmt: skip
    assert (workspace.path / "made.txt").read_text(encoding="utf-8") == "hi\n"
    assert "canary" not in stolen["output"].replace(str(secret), "")
    assert "PML_STATE" not in stolen["output"]


async def test_a_command_that_does_not_end_is_ended_with_all_it_started(
    workspace: Workspace,
) -> None:
    workspace.configure(permissions={"allow": ["shell:exec"]})
    code = "await mcp.shell.exec({command: 'while :; do date +%s%N > beat; done & sleep 100', timeoutSeconds: 0.5})"
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code)
        assert (facts["result"]["timedOut"], facts["result"]["exitCode"]) == (True, None)
        beat = (workspace.path / "beat").read_text(encoding="utf-8")
        await client.facts("execute", code="await new Promise(r => setTimeout(r, 200))")
        assert (workspace.path / "beat").read_text(encoding="utf-8") == beat


@pytest.mark.parametrize("rule", ["*", "shell", "shell:*", "shell:ex*"])
async def test_a_pattern_does_not_allow_commands(workspace: Workspace, rule: str) -> None:
    """Attack: a rule that was meant for harmless tools lets a program run anything."""
    workspace.configure(permissions={"allow": [rule]})
    code = "(await mcp.shell.exec({command: 'touch made'})).exitCode"
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code)
        assert facts["status"] == "approval_required"
        assert not (workspace.path / "made").exists()
    async with connected(workspace, answer=accepting("yes")) as client:
        done = await client.facts("continue_workflow", workflowId=facts["workflowId"])
        assert done["result"] == 0
    assert "only a rule that names `shell:exec` exactly" in client.asked[0]["message"]
    assert (workspace.path / "made").exists()


async def test_a_flood_of_output_is_cut_and_told(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["shell:exec"]})
    code = "const r = await mcp.shell.exec({command: 'head -c 3000000 /dev/zero | tr \"\\\\0\" x'}); return [r.output.length, r.truncated, r.exitCode]"
    async with connected(workspace) as client:
        assert (await client.facts("execute", code=code))["result"] == [256 << 10, True, 0]


async def test_built_ins_can_be_switched_off_and_a_server_goes_before(
    workspace: Workspace,
) -> None:
    workspace.servers["json"] = workspace.servers.pop("counter")
    workspace.configure(permissions={"allow": ["*"]}, builtins=["json"])
    async with connected(workspace) as client:
        found = await client.facts("discover", pattern="*")
        assert {tool["id"].partition(":")[0] for tool in found["tools"]} == {"json"}
        assert (await client.facts("execute", code="(await mcp.json.one({})).did"))[
            "result"
        ] == "one"
        gone = await client.facts(
            "execute", code="await mcp.filesystem.read_text_file({path: 'a'})"
        )
        assert gone["toolCode"] == "server_unknown"
    assert "a configured server of this name is used instead of the built-in" in client.stderr


@pytest.mark.parametrize("name", ["execute", "shell__exec"])
async def test_a_command_that_no_command_line_can_have_is_told_so(
    workspace: Workspace, name: str
) -> None:
    workspace.configure(permissions={"allow": ["shell:exec"]}, expose=["shell:exec"])
    code = "await mcp.shell.exec({command: 'a\\0b'})"
    arguments = {"code": code} if name == "execute" else {"command": "a\0b"}
    async with connected(workspace) as client:
        result = await client.call(name, **arguments)
    assert result["isError"] is True
    assert "`command` has a character U+0000" in result["content"][0]["text"]
    [audit] = workspace.state.glob("workspaces/*/audit.jsonl")
    assert '"call_ended"' in audit.read_text(encoding="utf-8")


SHELL = "const run = async (command) => (await mcp.shell.exec({command})).output;"


def _with_secrets(workspace: Workspace) -> None:
    files = {".env": "KEY=", ".envrc": "export KEY=", "app/deep/server.key": "", ".aws/config": ""}
    for name, before in files.items():
        path = workspace.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{before}canary", encoding="utf-8")
    (workspace.path / "real").write_text("canary", encoding="utf-8")
    (workspace.path / "id_rsa").symlink_to("real")
    (workspace.path / ".env.example").write_text("an example", encoding="utf-8")
    (workspace.path / "id_card").mkdir()
    (workspace.path / "id_card" / "a.txt").write_text("a card", encoding="utf-8")


async def test_a_command_does_not_see_files_of_the_workspace_that_look_secret(
    workspace: Workspace,
) -> None:
    """Attack: the keys that `pml init` put into `.env` are read, moved away, copied or replaced."""
    workspace.configure(permissions={"allow": ["shell:exec"]})
    _with_secrets(workspace)
    code = (
        SHELL
        + """
    const stolen = [];
    for (const command of [
      'cat .env .envrc app/deep/server.key .aws/* id_rsa real',
      'mv .env a; mv app app2; mv app/deep app/deep2; mv .aws b; cat a app2/*/* app/*/* b/*',
      'cp -r . "$TMPDIR/copy"; ln .env hard; cat "$TMPDIR"/copy/.e* "$TMPDIR"/copy/*/*/* hard',
      'umount .env; rm -rf .env app .aws; cat .env app/deep/server.key',
      'grep -rh can . ; tar c . | grep -a can',
      'echo changed > .env; : > .aws/config',
    ]) stolen.push(await run(command));
    return [stolen, await run('cat .env.example id_card/a.txt; echo new > app/deep/new; cat app/deep/new')]"""
    )
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code)
        found = await client.facts("discover", name="shell:exec")
    stolen, open_ones = facts["result"]
    assert not [output for output in stolen if "canary" in output]
    assert open_ones == "an examplea card" + "new\n"
    assert (workspace.path / ".env").read_text(encoding="utf-8") == "KEY=canary"
    assert (workspace.path / "app/deep/server.key").read_text(encoding="utf-8") == "canary"
    assert (workspace.path / ".aws/config").read_text(encoding="utf-8") == "canary"
    assert "are hidden" in str(found)


async def test_where_secret_files_cannot_be_hidden_the_human_and_the_model_are_told(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Attack: without bubblewrap a command reads `.env`, and the question does not say so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    workspace.configure(permissions={"allow": ["*"]})
    _with_secrets(workspace)
    told = "it can read files of the workspace that look secret (.env, private keys)"
    code = "(await mcp.shell.exec({command: 'read line < .env; echo $line'})).output"
    async with connected(workspace, answer=accepting("yes")) as client:
        facts = await client.facts("execute", code=code)
        found = await client.facts("discover", name="shell:exec")
        workspace.configure()
        assert (await client.facts("execute", code=code))["result"] == facts["result"]
    assert facts["result"] == "KEY=canary\n"
    assert told in str(found)
    by_pattern, by_no_rule = (asked["message"] for asked in client.asked)
    assert f"exactly allows it; {told}" in by_pattern
    assert f"sandbox    landlock; {told}" in by_no_rule
