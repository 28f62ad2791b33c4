"""What a package manager is given of the user's: its own settings, and nothing else.

A mirror, a proxy or an authority that the user set for npm, pip or uv must work, so their files
and variables are handed on, by name; where those name a port or a file, that is opened too. The
workspace's own `.npmrc` is not among them: who wrote the workspace must not choose the registry.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pml.confinement import Support
from pml.confinement.width import too_wide

_MOST_BYTES = 1 << 20  # of a settings file
_KERNEL = tuple(map(Path, ("/proc", "/sys", "/dev")))

_FILES = {
    "npm": (".npmrc",),
    "pip": (".pip/pip.conf", ".config/pip/pip.conf"),
    "uv": (".config/uv/uv.toml",),
}
"""Below the home, where each client looks."""

_SYSTEM_FILES = {
    "npm": (),  # beside npm itself, which it may read anyway
    "pip": ("/etc/pip.conf", "/etc/xdg/pip/pip.conf"),
    "uv": ("/etc/uv/uv.toml",),
}

_CONNECTION = frozenset({
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir",
    "node_extra_ca_certs", "requests_ca_bundle", "curl_ca_bundle",
})  # fmt: skip
_NAMES = {
    "npm": (
        r"npm_config_(registry|@.*:registry|//.*|cafile|ca|cert|key|strict_ssl|proxy|https_proxy"
        r"|noproxy|userconfig|globalconfig|fetch_.*|maxsockets|before|min_release_age"
        r"|replace_registry_host)"
    ),
    "pip": (
        r"pip_(index_url|extra_index_url|find_links|no_index|cert|client_cert|trusted_host|proxy"
        r"|timeout|default_timeout|retries|config_file|prefer_binary|use_feature)"
    ),
    "uv": (
        r"uv_(index|default_index|index_url|extra_index_url|find_links|no_index|index_strategy"
        r"|index_.*_(username|password)|native_tls|system_certs|config_file|http_timeout"
        r"|insecure_host|exclude_newer)"
    ),
}
"""Variables, in lower case, that say where packages come from; none that says where they go."""

_NAMED = r"\$\{(\w+)\??\}"
_PORT = r"https?://[^\s/\"']*:(\d{1,5})(?![\d@])"
_PATH = r"(?:file://|(?<![\w:/.-]))(/(?!/)[^\s\"',;#]*)"


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """Where packages are installed, and what is known of it."""

    environ: Mapping[str, str]
    user_home: Path
    support: Support
    packages: Path
    """The store, in the user's state; private."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What one package manager gets."""

    environment: Mapping[str, str]
    reads: tuple[Path, ...]
    ports: tuple[str, ...]
    """Of mirrors and proxies, as `Grants.net` has them."""

    links: Mapping[str, Path]
    """Files of the user's, by their names below the manager's own HOME."""


def settings_of(manager: str, machine: Machine) -> Settings:
    """Collect the user's settings for a package manager."""
    environ = machine.environ
    chosen = {name: value for name, value in environ.items() if _is_for(manager, name)}
    links = {name: path for name in _FILES[manager] if (path := _own_file(name, machine))}
    files = [*links.values(), *filter(Path.is_file, map(Path, _SYSTEM_FILES[manager]))]
    files += [Path(value) for name, value in chosen.items() if name.lower().endswith("config")]
    files += [Path(value) for name, value in chosen.items() if name.lower().endswith("_file")]
    texts = [_text(path) for path in files]
    chosen |= {
        name: environ[name]
        for text in texts
        for name in re.findall(_NAMED, text)
        if name in environ
    }
    told = "\n".join((*texts, *chosen.values()))
    ports = sorted({f"*:{port}" for port in re.findall(_PORT, told) if 0 < int(port) < 1 << 16})
    reads = {*filter(Path.exists, files), *_paths(told, machine.user_home)}
    return Settings(chosen, tuple(sorted(reads)), tuple(ports), links)


def _is_for(manager: str, name: str) -> bool:
    lower = name.lower()
    return lower in _CONNECTION or bool(re.fullmatch(_NAMES[manager], lower.replace("-", "_")))


def _own_file(name: str, machine: Machine) -> Path | None:
    """Give the user's settings file; `.config` is where the desktop says that it is."""
    base = machine.environ.get("XDG_CONFIG_HOME")
    path = machine.user_home / name
    if name.startswith(".config/") and base and Path(base).is_absolute():
        path = Path(base) / name.removeprefix(".config/")
    return path if path.is_file() else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _paths(told: str, user_home: Path) -> Iterator[Path]:
    """Give the files and folders that settings name; never one that opens the user's things."""
    for text in set(re.findall(_PATH, told)):
        path = Path(text.rstrip("/") or "/")
        if path.name == "simple":  # the index of a mirror on disk, whose files lie beside it
            path = path.parent
        if not path.exists() or any(path.is_relative_to(one) for one in _KERNEL):
            continue
        if path.is_file() or not too_wide(path, user_home):
            yield path
