"""TLS on loopback, with an authority of our own."""

import datetime
import ipaddress
import pathlib
import ssl
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pml.backends.errors import ServerStartError

Pair = tuple[ssl.SSLContext, ssl.SSLContext]


def certificate(name: str, folder: pathlib.Path, *, days: int = 1) -> pathlib.Path:
    """Write a self-signed certificate with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    try:
        names: list[x509.GeneralName] = [x509.IPAddress(ipaddress.ip_address(name))]
    except ValueError:
        names = [x509.DNSName(name)]
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    return path


def contexts(name: str, folder: pathlib.Path, *, days: int = 1) -> Pair:
    """Give what the server shows and whom the client trusts."""
    path = certificate(name, folder, days=days)
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(path)
    return shown, ssl.create_default_context(cafile=path)


async def test_a_verified_server_is_spoken_to(
    start: Any, connect: Any, tmp_path: pathlib.Path
) -> None:
    shown, trusted = contexts("127.0.0.1", tmp_path)
    server = await start(shown)
    backend = await connect(server.url, tls=trusted)

    assert [tool.name for tool in (await backend.list_tools()).tools] == ["echo"]


async def test_the_name_is_verified_although_the_address_is_dialled(
    start: Any, connect: Any, tmp_path: pathlib.Path
) -> None:
    shown, trusted = contexts("app.localhost", tmp_path)
    server = await start(shown)

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    url = f"https://app.localhost:{server.port}/mcp"
    backend = await connect(url, tls=trusted, resolver=resolver)
    await backend.list_tools()

    other = await connect(url.replace("app.", "other."), tls=trusted, resolver=resolver)
    with pytest.raises(ServerStartError, match="(?i)certificate"):
        await other.list_tools()


async def test_a_certificate_of_nobody_is_refused(
    start: Any, connect: Any, tmp_path: pathlib.Path
) -> None:
    shown, _ = contexts("127.0.0.1", tmp_path)
    server = await start(shown)
    backend = await connect(server.url, {"Authorization": "Bearer secret"})

    with pytest.raises(ServerStartError, match="(?i)certificate"):
        await backend.list_tools()

    assert server.seen == []


async def test_an_expired_certificate_is_refused(
    start: Any, connect: Any, tmp_path: pathlib.Path
) -> None:
    shown, trusted = contexts("127.0.0.1", tmp_path, days=-1)
    server = await start(shown)
    backend = await connect(server.url, tls=trusted)

    with pytest.raises(ServerStartError, match="(?i)expired"):
        await backend.list_tools()


async def test_an_authority_named_by_the_environment_is_not_trusted(
    start: Any, connect: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The attack: whoever sets a variable stands in the middle.
    shown, _ = contexts("127.0.0.1", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "127.0.0.1.pem"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    server = await start(shown)
    backend = await connect(server.url)

    with pytest.raises(ServerStartError, match="(?i)certificate"):
        await backend.list_tools()


async def test_plain_http_where_tls_should_be_is_a_start_error(server: Any, connect: Any) -> None:
    backend = await connect(server.url.replace("http:", "https:"), start_timeout_seconds=0.3)

    with pytest.raises(ServerStartError):
        await backend.list_tools()
