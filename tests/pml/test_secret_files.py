import pytest

from pml.secret_files import is_secret_path


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".ENV", "app/.env", "/srv/app/.env.local", ".env.production", ".env-old", ".envrc",
        "prod.env", ".env.", ".env/", "a\\b\\.env", ".env::$DATA", "./x/../.env", ".env~",
        "id_rsa", "keys/id_ed25519", "ID_RSA", "id_ed25519_sk", "id_rsa.bak", "id_rsa-work", "id_work",
        "server.pem", "tls/server.KEY", "cert.p12", "store.jks", "vault.kdbx", "putty.ppk",
        "ssh_host_rsa_key", "credentials", "credentials.json", ".npmrc", ".netrc", "_netrc", ".pypirc",
        ".git-credentials", ".pgpass", "home/ada/.aws/config", ".AWS/x", ".ssh/known_hosts",
        "~/.gnupg/pubring.kbx", "/home/ada/.kube/config", "kubeconfig", ".docker/config.json",
        "/home/ada/.config/gcloud/application_default_credentials.json", "/etc/shadow",
        ".config/gh/hosts.yml", ".cargo/credentials.toml", "infra/terraform.tfstate",
    ],
)  # fmt: skip
def test_a_file_that_looks_secret_is_told_with_a_reason(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "environment.md", "id_card.png", "id_rsa.pub", "keys/id_ed25519.pub", "README.md", "", ".", "/",
        ".env.example", ".env.sample", "config/.env.template", ".environment", ".envoy.yaml", "env",
        "src/env.ts", "credentials.md", "src/credentials.py", "aws/main.tf", "ssh/readme", "monkey",
        "keyboard.json", "package.json", "config.json", "pem.txt", "kube/config", "docs/id_token.md",
        "src/tokens.ts", "shadow", "hosts.yml", "gnupg",
    ],
)  # fmt: skip
def test_a_near_miss_is_none(path: str) -> None:
    assert is_secret_path(path) is None
