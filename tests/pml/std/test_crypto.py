"""`crypto`: hashes, keys, random values and encodings, against Python."""

import base64
import hashlib
import hmac
import urllib.parse
import uuid
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.backends.std.hashing import ALGORITHMS, Hashing
from sandbox_host import Call, ToolError

from .conftest import Builtin

SETTINGS = settings(max_examples=30, deadline=None)
DATA = st.binary(max_size=200)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def hashed(algorithm: str, data: bytes) -> str:
    if algorithm == "blake3":
        return blake3(data).hexdigest()
    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


@SETTINGS
@given(data=DATA, algorithm=st.sampled_from([*ALGORITHMS, "blake3"]))
async def test_hashes_are_those_of_hashlib(builtin: Builtin, data: bytes, algorithm: str) -> None:
    found = await builtin("hash", base64=b64(data), algorithm=algorithm)
    digest = hashed(algorithm, data)
    assert (found["hex"], found["bytes"]) == (digest, len(data))
    assert found["base64"] == b64(bytes.fromhex(digest))


async def test_a_text_is_hashed_as_utf_8(builtin: Builtin) -> None:
    found = await builtin("hash", text="grüße 🎉")
    assert found["hex"] == hashlib.sha256("grüße 🎉".encode()).hexdigest()
    assert found["algorithm"] == "sha256"


@SETTINGS
@given(key=DATA, data=DATA, algorithm=st.sampled_from(ALGORITHMS))
async def test_authentication_codes_are_those_of_hmac(
    builtin: Builtin, key: bytes, data: bytes, algorithm: str
) -> None:
    found = await builtin("hmac", keyBase64=b64(key), base64=b64(data), algorithm=algorithm)
    assert found["hex"] == hmac.new(key, data, algorithm).hexdigest()


async def test_what_to_hash_is_said_once(builtin: Builtin) -> None:
    for tool, arguments in [
        ("hash", {}),
        ("hash", {"text": "a", "base64": ""}),
        ("encode", {"to": "hex"}),
    ]:
        assert await builtin.refused(tool, **arguments) == "Give either text or base64"
    assert await builtin.refused("hmac", text="a") == "Give either key or keyBase64"
    assert await builtin.refused("hash", base64="a!") == 'The data is not base64: "a!"'
    assert "`algorithm` must be one of sha256" in await builtin.refused(
        "hmac", text="a", key="k", algorithm="blake3"
    )


async def test_a_large_file_is_hashed_piece_by_piece(builtin: Builtin) -> None:
    data = bytes(range(256)) * (10 << 12)  # four pieces, the last one short
    (builtin.workspace / "large.bin").write_bytes(data)
    found = await builtin("hash_file", path="large.bin", algorithm="sha512")
    assert (found["hex"], found["bytes"]) == (hashlib.sha512(data).hexdigest(), len(data))


async def test_a_file_outside_or_hidden_is_not_hashed(builtin: Builtin, tmp_path: Path) -> None:
    """Attack: the hash of a file that the tool may not read tells what it holds."""
    (tmp_path / "outside").write_text("x", encoding="utf-8")
    (builtin.workspace / "link").symlink_to(tmp_path / "outside")
    (builtin.workspace / ".env").write_text("KEY=1", encoding="utf-8")
    (builtin.workspace / "innocent").symlink_to(builtin.workspace / ".env")
    assert "Access denied" in await builtin.refused("hash_file", path=str(tmp_path / "outside"))
    assert "Access denied" in await builtin.refused("hash_file", path="link")
    assert "refused by the sandbox" in await builtin.refused("hash_file", path="innocent")
    assert "ENOENT" in await builtin.refused("hash_file", path="missing")
    assert "EISDIR" in await builtin.refused("hash_file", path=".")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("hashing:start", {"algorithm": "shake_128"}), ("hashing:start", {}),
        ("hashing:start", {"algorithm": "blake3", "keyBase64": "AA=="}),
        ("hashing:start", {"algorithm": "sha256", "keyBase64": "no base64!"}),
        ("hashing:add", {"base64": "AA=="}), ("hashing:digest", {}), ("hashing:other", {}),
    ],
)  # fmt: skip
async def test_the_host_refuses_what_no_program_of_ours_asks(
    tool: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(ToolError, match="a built-in cannot call"):
        await Hashing().answer(Call(1, tool, arguments))


async def test_uuids_are_of_the_version_and_differ(builtin: Builtin) -> None:
    for version in (4, 7):
        made = (await builtin("uuid", version=version, count=50))["uuids"]
        assert len(set(made)) == 50
        assert {(uuid.UUID(one).version, uuid.UUID(one).variant) for one in made} == {
            (version, uuid.RFC_4122)
        }
    sevens = (await builtin("uuid", version=7))["uuids"][0]
    now = (await builtin("uuid", version=7))["uuids"][0]
    assert sevens[:13] <= now[:13]
    assert "`count` must be at most 1000" in await builtin.refused("uuid", count=1001)
    assert "`version` must be one of 4, 7" in await builtin.refused("uuid", version=1)


async def test_random_bytes_have_the_length_and_differ(builtin: Builtin) -> None:
    first, second = [(await builtin("random_bytes"))["data"] for _ in range(2)]
    assert len(bytes.fromhex(first)) == 32
    assert first != second
    large = base64.b64decode((await builtin("random_bytes", length=200_000, to="base64"))["data"])
    assert len(large) == 200_000
    assert len(set(large[-1000:])) > 100  # the last piece is filled too
    assert "`length` must be at least 1" in await builtin.refused("random_bytes", length=0)


@SETTINGS
@given(data=DATA, form=st.sampled_from(["base64", "base64url", "hex", "url"]))
async def test_what_was_encoded_is_decoded_again(builtin: Builtin, data: bytes, form: str) -> None:
    encoded = (await builtin("encode", base64=b64(data), to=form))["data"]
    assert encoded == {
        "base64": b64(data), "base64url": base64.urlsafe_b64encode(data).decode().rstrip("="),
        "hex": data.hex(), "url": urllib.parse.quote(data, safe=""),
    }[form]  # fmt: skip
    found = await builtin("decode", data=encoded, **{"from": form})
    assert (found["base64"], found["bytes"]) == (b64(data), len(data))
    try:
        assert found["text"] == data.decode()
    except UnicodeDecodeError:
        assert found["text"] is None


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        ("a!", "base64", 'The data is not base64: "a!"'), ("a-_b", "base64", "not base64"),
        ("a+/b", "base64url", "not base64url"), ("abc", "hex", "not hex"), ("zz", "hex", "not hex"),
        ("a%2", "url", "no two hexadecimal digits after % at position 2"), ("%zz", "url", "not url"),
    ],
)  # fmt: skip
async def test_what_cannot_be_decoded_is_told(
    builtin: Builtin, data: str, form: str, words: str
) -> None:
    assert words in await builtin.refused("decode", data=data, **{"from": form})


async def test_padding_white_space_and_plain_text_are_passed_over(builtin: Builtin) -> None:
    assert (await builtin("decode", data=" aGk\n", **{"from": "base64"}))["text"] == "hi"
    assert (await builtin("decode", data="68 69", **{"from": "hex"}))["text"] == "hi"
    assert (await builtin("decode", data="a%C3%A9+é", **{"from": "url"}))["text"] == "aé+é"


@SETTINGS
@given(a=st.text(max_size=5), b=st.text(max_size=5))
async def test_secrets_are_equal_only_if_they_are(builtin: Builtin, a: str, b: str) -> None:
    assert (await builtin("compare", a=a, b=b))["equal"] == (a == b)
    assert (await builtin("compare", a=a, b=a))["equal"]
    assert not (await builtin("compare", a=a, b=a + "\0"))["equal"]
