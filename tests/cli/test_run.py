"""`pml run` as a person and a script see it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime

from .conftest import Command


def test_a_file_runs_and_its_result_is_data_on_stdout(process: Command, tmp_path: Path) -> None:
    (tmp_path / "sum.ts").write_text("const n: number = args.a + args.b;\nreturn { n };\n")
    ended = process("run", "sum.ts", "--args", '{"a": 1, "b": 2}')
    assert (ended.code, ended.out, ended.err) == (0, '{"n":3}\n', "")


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("'plain'", "plain\n"),
        ("1 + 1", "2\n"),
        ("null", "null\n"),
        ("let x = 1", "null\n"),
        ("[1, 'é', null]", '[1,"é",null]\n'),
        ("'two\\nlines'", "two\nlines\n"),
        ("''", "\n"),
    ],
)
def test_strings_are_printed_as_they_are_and_the_rest_as_json(
    pml: Command, code: str, printed: str
) -> None:
    assert pml("run", "-e", code).out == printed


def test_a_program_can_come_from_stdin(pml: Command) -> None:
    assert pml("run", "-", stdin=b"const n: number = 6; n * 7").out == "42\n"


def test_a_shebang_line_and_a_byte_order_mark_do_no_harm(pml: Command) -> None:
    assert pml("run", "-", stdin=b"#!/usr/bin/env -S pml run\n6 * 7").out == "42\n"
    assert pml("run", "-", stdin=b"\xef\xbb\xbf6 * 7").out == "42\n"


def test_logs_go_to_stderr_with_a_level_only_for_warnings_and_errors(pml: Command) -> None:
    ended = pml("run", "-e", "console.log('a'); console.warn('b'); console.error('c'); 1")
    assert (ended.out, ended.err) == ("1\n", "a\n[warn] b\n[error] c\n")


def test_an_error_shows_message_place_source_line_and_caret(pml: Command, tmp_path: Path) -> None:
    file = tmp_path / "bad.ts"
    file.write_text("const a: number = 1;\nthrow new TypeError('no good');\n")
    ended = pml("run", str(file))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "error: TypeError: no good\n"
        f"  --> {file}:2:11\n"
        "2 | throw new TypeError('no good');\n"
        "  |           ^\n"
    )


def test_a_syntax_error_shows_its_place(pml: Command) -> None:
    ended = pml("run", "-e", "let x = ;")
    assert ended.code == 1
    assert "  --> -e:1:9\n1 | let x = ;\n  |         ^\n" in ended.err


def test_every_mcp_call_is_refused_with_the_tools_name(pml: Command) -> None:
    ended = pml("run", "-e", "await mcp.math.add({a: 1})")
    assert ended.code == 1
    assert ended.err.startswith(
        "error: McpError: no servers are configured: `math:add` cannot be called\n"
    )


def test_json_tells_the_whole_outcome(pml: Command) -> None:
    code = "console.warn('w'); try { await mcp.a.b({}) } catch (e) { return {code: e.code} }"
    ended = pml("run", "--json", "-e", code)
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert report["status"] == "success"
    assert report["result"] == {"code": "no_tools"}
    assert report["logs"] == [{"level": "warn", "text": "w"}]
    [call] = report["calls"]
    assert (call["tool"], call["outcome"]) == ("a:b", "error")
    assert call["milliseconds"] >= 0


def test_json_tells_of_a_failure_with_its_place(pml: Command) -> None:
    ended = pml("run", "--json", "-e", "await mcp.a.b({})")
    report = json.loads(ended.out)
    assert ended.code == 1
    assert {key: report[key] for key in ("status", "code", "tool", "toolCode", "line")} == {
        "status": "error", "code": "tool_error", "tool": "a:b", "toolCode": "no_tools", "line": 1,
    }  # fmt: skip
    assert "no servers are configured" in report["message"]


def test_json_tells_of_a_run_that_never_began(pml: Command) -> None:
    ended = pml("run", "--json", "missing.ts")
    report = json.loads(ended.out)
    assert (ended.code, ended.err) == (1, "")
    assert (report["status"], report["code"]) == ("error", "source_unreadable")


@pytest.mark.parametrize("arguments", [["-e", "1", "file.ts"], []])
def test_file_and_code_or_neither_is_a_usage_error(pml: Command, arguments: list[str]) -> None:
    ended = pml("run", *arguments)
    assert ended.code == 2
    assert "hint: pml run FILE, pml run -e CODE" in ended.err


def test_args_that_are_no_json_are_shown_with_the_place(pml: Command) -> None:
    ended = pml("run", "-e", "1", "--args", '{"a": 1,}')
    assert ended.code == 2
    assert ended.err.startswith("error: --args is not JSON: ")
    assert '1 | {"a": 1,}\n' in ended.err


@pytest.mark.parametrize("args", ["NaN", "[" * 100_000, "9" * 10_000])
def test_args_that_python_alone_would_take_are_refused(pml: Command, args: str) -> None:
    ended = pml("run", "-e", "1", "--args", args)
    assert ended.code == 2
    assert ended.err.startswith("error: --args is not JSON: ")


def test_a_file_that_is_not_there_is_named(pml: Command) -> None:
    ended = pml("run", "nowhere.ts")
    assert ended.code == 1
    assert ended.err == "error: cannot read nowhere.ts: No such file or directory\n"


def test_a_folder_is_no_program(pml: Command, tmp_path: Path) -> None:
    assert pml("run", str(tmp_path)).err == f"error: cannot read {tmp_path}: Is a directory\n"


def test_a_file_that_is_no_text_is_refused_with_the_position(pml: Command, tmp_path: Path) -> None:
    file = tmp_path / "latin.ts"
    file.write_bytes(b"'caf\xe9'")
    ended = pml("run", str(file))
    assert ended.code == 1
    assert "is not UTF-8 text: the byte at position 4 cannot be read" in ended.err


def test_a_mount_that_does_not_exist_is_named(pml: Command) -> None:
    ended = pml("run", "-e", "1", "--mount", "/no/such/folder")
    assert ended.code == 1
    assert ended.err == "error: cannot mount /no/such/folder: No such file or directory\n"


def test_a_mount_is_read_only_unless_it_says_rw(pml: Command, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    read = "await Deno.readTextFile('a.txt')"
    write = "await Deno.writeTextFile('b.txt', 'written')"
    assert pml("run", "-e", read, "--mount", str(tmp_path)).out == "hello\n"
    refused = pml("run", "-e", write, "--mount", str(tmp_path))
    assert refused.code == 1
    assert "PermissionDenied" in refused.err
    assert not (tmp_path / "b.txt").exists()
    assert pml("run", "-e", write, "--mount", f"{tmp_path}:rw").code == 0
    assert (tmp_path / "b.txt").read_text() == "written"


def test_a_refused_write_to_a_protected_file_is_told_even_when_caught(
    pml: Command, tmp_path: Path
) -> None:
    code = "try { await Deno.writeTextFile('.bashrc', 'x') } catch { return 'caught' }"
    ended = pml("run", "-e", code, "--mount", f"{tmp_path}:rw")
    assert (ended.code, ended.out) == (0, "caught\n")
    assert ended.err == f"warning: refused to write {tmp_path}/.bashrc (protected: .bashrc)\n"
    assert not (tmp_path / ".bashrc").exists()


def test_an_export_is_called_by_name(pml: Command) -> None:
    module = "export const one = () => 1; export const two = (args: {n: number}) => args.n * 2;"
    assert pml("run", "-e", module, "--call", "two", "--args", '{"n": 4}').out == "8\n"


@pytest.mark.parametrize(
    ("options", "code", "option"),
    [
        (["--cpu", "0.2"], "for (;;);", "--cpu"),
        (["--timeout", "0.2"], "await new Promise((r) => setTimeout(r, 60_000))", "--timeout"),
        (
            ["--memory", "8"],
            "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
            "--memory",
        ),
    ],
)
def test_a_limit_stops_the_program_and_the_hint_names_its_option(
    pml: Command, options: list[str], code: str, option: str
) -> None:
    ended = pml("run", *options, "-e", code)
    assert ended.code == 1
    assert f"allow more with {option} " in ended.err


@pytest.mark.parametrize(
    "options", [["--timeout", "0"], ["--timeout", "nan"], ["--cpu", "-1"], ["--memory", "3"],
                ["--memory", "5000"], ["--memory", "some"]],
)  # fmt: skip
def test_a_limit_that_cannot_work_is_a_usage_error(pml: Command, options: list[str]) -> None:
    ended = pml("run", "-e", "1", *options)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert options[0] in ended.err


def test_a_wasm_file_runs_as_a_raw_module(pml: Command, tmp_path: Path) -> None:
    file = tmp_path / "answer.wasm"
    file.write_bytes(
        wasmtime.wat2wasm(
            '(module (import "mcp" "result" (func $result (param i32 i32)))'
            ' (memory (export "memory") 1) (data (i32.const 0) "42")'
            ' (func (export "run") (call $result (i32.const 0) (i32.const 2))))'
        )
    )
    assert pml("run", str(file)).out == "42\n"
    assert pml("run", "-", stdin=file.read_bytes()).out == "42\n"


def test_a_wasm_file_that_is_none_is_refused(pml: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.wasm").write_bytes(b"(module)")
    ended = pml("run", str(tmp_path / "bad.wasm"))
    assert ended.code == 1
    assert ended.err.startswith("error: not a usable WebAssembly module: ")


def test_stdout_that_is_full_is_an_error() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    with full.open("wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "pml", "run", "-e", "1"],
            stdout=stdout, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == b"error: cannot write to stdout: No space left on device\n"


@pytest.mark.parametrize("inside", [".", "..", "workspaces"])
def test_the_state_of_pml_cannot_be_mounted(
    inside: str, pml: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a program reads the keys that seal runs and verdicts, or writes its own trust."""
    state = tmp_path / "state"
    (state / "workspaces").mkdir(parents=True)
    monkeypatch.setenv("PML_STATE", str(state))
    ended = pml("run", "--mount", f"{state / inside}:rw", "-e", "1")
    assert ended.code == 1
    assert "PML's own state is in it" in ended.err
