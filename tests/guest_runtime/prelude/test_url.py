"""URL and URLSearchParams as the WHATWG standard has them."""

import json
from collections.abc import Awaitable, Callable

import pytest

from sandbox_host import Completed

Run = Callable[..., Awaitable[Completed]]

PARSED = [
    ("HTTP://EXAMPLE.com:80/a/./b/../c?q#f", None, "http://example.com/a/c?q#f"),
    ("//h/x", "https://old/y", "https://h/x"),
    ("../x", "http://h/a/b/c?q", "http://h/a/x"),
    ("?q", "http://h/a/b?old#f", "http://h/a/b?q"),
    ("#f", "mailto:a@b", "mailto:a@b#f"),
    ("http:\\\\h\\a", None, "http://h/a"),
    (" \thttp://h/\n", None, "http://h/"),
    ("http://u:p%40@h/", None, "http://u:p%40@h/"),
    ("http://a@b@c/", None, "http://a%40b@c/"),
    ("http://0x7f.1/", None, "http://127.0.0.1/"),
    ("http://4294967295/", None, "http://255.255.255.255/"),
    ("http://[1:0:0:2:0:0:0:3]/", None, "http://[1:0:0:2::3]/"),
    ("http://[::1.2.3.4]/", None, "http://[::102:304]/"),
    ("http://münchen.DE/ü?ü#ü", None, "http://xn--mnchen-3ya.de/%C3%BC?%C3%BC#%C3%BC"),
    ("file:///C|/a/../..", None, "file:///C:/"),
    ("file://localhost/x", None, "file:///x"),
    ("foo:/..//p", None, "foo:/.//p"),
    ("foo://h:99/a b", None, "foo://h:99/a%20b"),
    ("data:text/plain,a b", None, "data:text/plain,a b"),
    ("http://h/%2e%2E/a%zz^{}`", None, "http://h/a%zz%5E%7B%7D%60"),
    ("http://h/?'\"", None, "http://h/?%27%22"),
    ("foo://h/?'\"", None, "foo://h/?'%22"),
]
REFUSED = [
    "", "x", "http://", "http://a b/", "http://h:65536/", "http://256.1.1.1/", "http://1.2.3.4.5/",
    "http://[::1", "http://[1::2::3]/", "http://a%00b/", "http://ex<a/", "http://u@/",
    "http://h:x/",
]  # fmt: skip


async def test_inputs_become_the_standards_hrefs(run: Run) -> None:
    inputs = [[given] if base is None else [given, base] for given, base, _ in PARSED]
    outcome = await run(f"{json.dumps(inputs)}.map((args) => new URL(...args).href)")
    assert outcome.value == [href for _, _, href in PARSED]


async def test_what_is_no_url_is_refused_three_ways(run: Run) -> None:
    outcome = await run(
        f"""
        const nameOf = (text) => {{
          try {{ return new URL(text).href }} catch (error) {{ return error.name }}
        }};
        {json.dumps(REFUSED)}.map((text) => [nameOf(text), URL.canParse(text), URL.parse(text)])
        """
    )
    assert outcome.value == [["TypeError", False, None]] * len(REFUSED)


async def test_the_parts_of_a_url(run: Run) -> None:
    outcome = await run(
        """
        const u = new URL('https://me:pw@h.org:8443/p/q?a=1#f');
        [u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port,
         u.pathname, u.search, u.hash,
         JSON.stringify(u), `${u}` === u.href, Object.prototype.toString.call(u),
         new URL('blob:https://h/x').origin, new URL('file:///x').origin]
        """
    )
    assert outcome.value == [
        "https://h.org:8443", "https:", "me", "pw", "h.org:8443", "h.org", "8443",
        "/p/q", "?a=1", "#f",
        '"https://me:pw@h.org:8443/p/q?a=1#f"', True, "[object URL]", "https://h", "null",
    ]  # fmt: skip


SETTERS = [
    ("http://h/", "protocol", "https", "https://h/"),
    ("http://h/", "protocol", "foo", "http://h/"),
    ("http://h:8080/", "host", "x:80", "http://x/"),
    ("http://h:8080/", "host", "x", "http://x:8080/"),
    ("http://h:8080/", "hostname", "x:80", "http://h:8080/"),
    ("http://h/", "port", "81abc", "http://h:81/"),
    ("http://h:81/", "port", "", "http://h/"),
    ("http://h/a", "pathname", "../x?y#z", "http://h/x%3Fy%23z"),
    ("http://h/?a#f", "search", "", "http://h/#f"),
    ("http://h/", "search", "q#r", "http://h/?q%23r"),
    ("http://h/#f", "hash", "", "http://h/"),
    ("http://h/", "username", "a:b", "http://a%3Ab@h/"),
    ("mailto:x", "host", "h", "mailto:x"),
    ("file:///x", "port", "1", "file:///x"),
]


@pytest.mark.parametrize(("start", "part", "value", "href"), SETTERS)
async def test_setters(run: Run, start: str, part: str, value: str, href: str) -> None:
    outcome = await run(
        f"const u = new URL({json.dumps(start)}); u.{part} = {json.dumps(value)}; u.href"
    )
    assert outcome.value == href


async def test_search_params_and_url_change_together(run: Run) -> None:
    outcome = await run(
        """
        const u = new URL('http://h/??x=1');
        const seen = [u.searchParams.get('?x')];
        u.searchParams.append('b', '2 3&'); seen.push(u.search);
        u.search = '?k=1'; seen.push([...u.searchParams]);
        u.searchParams.delete('k'); seen.push(u.href);
        u.href = 'http://z/?p=3';
        seen.push(u.searchParams.get('p'), u.searchParams === u.searchParams);
        seen
        """
    )
    assert outcome.value == ["1", "?%3Fx=1&b=2+3%26", [["k", "1"]], "http://h/", "3", True]


async def test_search_params_alone(run: Run) -> None:
    outcome = await run(
        """
        const p = new URLSearchParams('?a=1&a=2&b=%2B+%zz&c');
        const seen = [p.getAll('a'), p.get('b'), p.get('c'), p.get('none')];
        seen.push(p.size, p.has('a', '2'));
        p.set('a', 'é'); p.append('n', "!'()~*"); p.sort(); seen.push(`${p}`);
        seen.push(`${new URLSearchParams({x: 1, y: 2})}`, `${new URLSearchParams([['k', 'v']])}`);
        let refused; try { new URLSearchParams([['one']]) } catch (error) { refused = error.name }
        [...seen, refused]
        """
    )
    assert outcome.value == [
        ["1", "2"], "+ %zz", "", None, 4, True, "a=%C3%A9&b=%2B+%25zz&c=&n=%21%27%28%29%7E*",
        "x=1&y=2", "k=v", "TypeError",
    ]  # fmt: skip
