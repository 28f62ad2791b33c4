"""Which files look as if they held secrets, by their paths alone. Pure.

Asked before such a file is read, even where reading is allowed. In doubt about a name that means
other things too (`credentials.md`, `id_card.png`) it is none: a question too many teaches people
to say yes.
"""

import re
from pathlib import PurePosixPath

_FOLDERS = {
    ".ssh": "the folder of SSH keys",
    ".gnupg": "the folder of GnuPG keys",
    ".aws": "the folder of AWS credentials",
    ".azure": "the folder of Azure credentials",
    ".password-store": "the folder of passwords",
    ".kube": "the folder of Kubernetes credentials",
}
_TAILS = {
    ".docker/config.json": "Docker's credentials",
    ".config/gcloud/credentials.db": "Google Cloud's credentials",
    ".config/gcloud/application_default_credentials.json": "Google Cloud's credentials",
    ".config/gh/hosts.yml": "GitHub's credentials",
    ".cargo/credentials.toml": "the credentials of a package registry",
    ".gem/credentials": "the credentials of a package registry",
    "etc/shadow": "the system's passwords",
}
_NAMES = {
    ".npmrc": "the credentials of a package registry",
    ".yarnrc.yml": "the credentials of a package registry",
    ".pypirc": "the credentials of a package registry",
    ".netrc": "passwords of hosts",
    "_netrc": "passwords of hosts",
    ".git-credentials": "passwords of git",
    ".pgpass": "passwords of databases",
    ".my.cnf": "passwords of databases",
    ".htpasswd": "passwords",
    ".dockercfg": "Docker's credentials",
    ".vault-token": "a token",
    "credentials": "credentials",
    "credentials.json": "credentials",
    "client_secret.json": "credentials",
    "service-account.json": "credentials",
    "kubeconfig": "Kubernetes credentials",
    "terraform.tfstate": "the state of Terraform, passwords included",
    "audit.key": "the key of the audit",
}
_ENV_EXAMPLES = ("example", "sample", "template", "dist", "defaults")
_ENV_FILE = re.compile(r"\.env(?:rc)?(?:[-_.~].*)?|.+\.env")
_PRIVATE_KEY = re.compile(
    r"id_[^.]+|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?[-_.].*|ssh_host_.*_key"
    r"|.*\.(?:pem|p12|pfx|jks|keystore|kdbx|ppk|key|pk8)"
)


def is_secret_path(path: str) -> str | None:
    """Say what a file seems to hold, None if nothing secret; any letter case, any slash."""
    plain = path.replace("\\", "/").rstrip("/. ").casefold()
    parts = PurePosixPath(plain).parts
    if not parts:
        return None
    for folder in _FOLDERS.keys() & parts:
        return _FOLDERS[folder]
    whole = f"/{'/'.join(parts)}"
    for tail, reason in _TAILS.items():
        if whole.endswith(tail) and whole.endswith(f"/{tail}"):
            return reason
    return _by_name(parts[-1].partition(":")[0])  # Windows: `.env::$DATA` is the file itself


def _by_name(name: str) -> str | None:
    if name in _NAMES:
        return _NAMES[name]
    if _is_env_file(name):
        return "environment variables, keys included"
    if _PRIVATE_KEY.fullmatch(name) and not name.endswith(".pub"):
        return "a private key"
    return None


def _is_env_file(name: str) -> bool:
    is_one = _ENV_FILE.fullmatch(name) is not None
    return is_one and name.rpartition(".")[2] not in _ENV_EXAMPLES
