"""Attack: `..`, absolute paths and their disguises, to read or write beside the mount."""

import pytest

from sandbox_host import Completed, Mount

UP = ["../outside/secret.txt", "sub/../../outside/secret.txt", "./../outside/secret.txt", "sub/../sub/../../outside/secret.txt",
      "..//outside/secret.txt", "//../outside/secret.txt", "sub/./../../outside/secret.txt", "../mount_evil/secret.txt",
      "../mount/../outside/secret.txt", "/mount/../outside/secret.txt", "/mount/sub/../../outside/secret.txt",
      "/work_evil/secret.txt", "/workevil", "..", "../", "/..", "/../..", "..\\outside\\secret.txt", "sub/..\\..\\outside",
      "%2e%2e/outside/secret.txt", "..%2foutside/secret.txt", "．．/outside/secret.txt", "../outside/secret.txt/",
      "../outside/secret.txt/.", "plain.txt/../../outside/secret.txt", "missing/../../outside/secret.txt",
      "../" * 50 + "etc/passwd", "/" + "../" * 50 + "etc/passwd", "~/secret.txt", "$HOME"]  # fmt: skip
TRIES = {
    "read": "await Deno.readTextFile(args)",
    "write": "await Deno.writeTextFile(args, 'planted')",
    "append": "await Deno.writeTextFile(args, 'planted', { append: true, create: false })",
    "list": "for await (const e of Deno.readDir(args)) throw e.name",
    "mkdir": "await Deno.mkdir(args + '/planted', { recursive: true })",
    "remove": "await Deno.remove(args, { recursive: true })",
    "rename out": "await Deno.rename('plain.txt', args)",
    "rename in": "await Deno.rename(args, 'taken')",
    "copy out": "await Deno.copyFile('plain.txt', args)",
    "copy in": "await Deno.copyFile(args, 'taken')",
    "stat": "await Deno.stat(args)",
    "lstat": "await Deno.lstat(args)",
}


@pytest.mark.parametrize("attempt", TRIES)
async def test_no_way_up_leads_out(value, world, attempt):
    batch = f"""const told = []
        for (const path of args) {{
            const args = path
            try {{ {TRIES[attempt]}; told.push('done') }} catch (e) {{ told.push(String(e.name ?? e)) }}
        }}
        return told"""
    results = await value(batch, mounts=[world.writable()], args=UP)
    inside = {"..\\outside\\secret.txt", "%2e%2e/outside/secret.txt", "..%2foutside/secret.txt", "．．/outside/secret.txt",
              "sub/..\\..\\outside", "~/secret.txt", "$HOME"}  # names like any other here  # fmt: skip
    for path, result in zip(UP, results, strict=True):
        if path not in inside:
            assert result not in ("done", "secret.txt"), (path, result)
    assert not (world.mount / "taken").exists() or (world.mount / "taken").read_text() != "secret"


ABSOLUTE = ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/mem", "/dev/stdin", "/dev/zero", "/dev/random", "/",
            "/var", "//etc/passwd", "/./etc/passwd", "file:///etc/passwd", "C:\\Windows", "\\\\?\\C:\\", "/proc/self/cwd",
            "/proc/self/cwd/../../../etc/passwd", "/proc/self/fd/0"]  # fmt: skip


@pytest.mark.parametrize("attempt", TRIES)
@pytest.mark.parametrize("mounted", [True, False], ids=["with a mount", "without a mount"])
async def test_no_absolute_path_leads_out(value, world, attempt, mounted):
    real = str(world.secret)
    results = await value(
        f"""const told = []
        for (const path of args) for (const args of [path, path.startsWith('file') ? new URL(path) : path]) {{
            try {{ {TRIES[attempt]}; told.push([path, 'done']) }} catch (e) {{ told.push([path, String(e.name ?? e)]) }}
        }}
        return told""",
        mounts=[world.writable()] if mounted else [],
        args=[real, str(world.outside), str(world.mount.parent), *ABSOLUTE],
    )
    for path, result in results:
        if not path.startswith(("C:", "\\")) and not (path.startswith("file") and mounted):
            assert result != "done", (path, result)


async def test_a_mount_is_reached_by_its_guest_path_and_not_by_its_host_path(value, world):
    mounts = [world.writable()]
    assert (
        await value("return await Deno.readTextFile('/mount/plain.txt')", mounts=mounts) == "plain"
    )
    told = await value(
        "try { return await Deno.readTextFile(args) } catch (e) { return e.name }",
        mounts=mounts, args=str(world.mount / "plain.txt"),
    )  # fmt: skip
    assert told in ("PermissionDenied", "NotFound")


async def test_one_mount_is_no_way_into_the_other(value, world):
    mounts = [world.readable(), Mount(world.mount / "sub", writable=True, guest_path="/rw")]
    told = await value(
        """const told = []
        for (const path of ['/rw/../mount/new', '/mount/new', '/rw/../plain.txt', '/mount/../rw/../plain.txt', '/rw/../../outside/x'])
            try { await Deno.writeTextFile(path, 'x'); told.push('done') } catch (e) { told.push(e.name) }
        for (const [from, to] of [['/mount/plain.txt', '/rw/taken'], ['/rw/inner.txt', '/mount/given']])
            try { await Deno.rename(from, to); told.push('done') } catch (e) { told.push(e.name) }
        return told""",
        mounts=mounts,
    )
    assert "done" not in told
    assert (world.mount / "plain.txt").read_text() == "plain"


async def test_a_raw_module_gets_no_further(wasi):
    """The same through WASI itself, and without telling which files exist outside."""
    module = wasi()
    told = {
        module.open(path)[0]
        for path in ("../outside/secret.txt", "../outside/missing", "../outside", "..")
    }
    assert 0 not in told
    absolute = {
        module.open(path)[0]
        for path in ("/etc/passwd", "/dev/null", "/etc/missing", "/dev/missing")
    }
    assert 0 not in absolute
    assert len(told) == 1, "the errors tell what exists outside"
    assert len(absolute) == 1, "the errors tell what exists outside"
    devices = {
        module.open("../" * 40 + path)[0]
        for path in ("dev/null", "dev/missing", "etc/passwd", "etc")
    }
    assert len(devices) == 1
    assert 0 not in devices


async def test_a_path_of_any_length_is_an_error_and_not_a_crash(run, world):
    for length in (255, 256, 4000, 4090, 4095, 4096, 5000, 100_000):
        outcome = await run(
            "const told = []; for (const p of ['a'.repeat(args), 'a/'.repeat(args / 2), '../'.repeat(args / 3), '/mount/' + 'é'.repeat(args / 2)])"
            "for (const f of [Deno.readTextFile, (p) => Deno.mkdir(p), (p) => Deno.rename(p, p), (p) => Deno.writeTextFile(p, '')])"
            "try { await f(p); told.push('done') } catch (e) { told.push(e.name) } return told",
            mounts=[world.readable()], args=length,
        )  # fmt: skip
        assert isinstance(outcome, Completed), (length, outcome)
        assert "done" not in outcome.value
