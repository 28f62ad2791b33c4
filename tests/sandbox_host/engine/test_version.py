"""Only versions of wasmtime that are known to hold are let in."""

import pytest

from sandbox_host import WasmtimeRefused
from sandbox_host.engine.version import check_version, installed_version


@pytest.mark.parametrize("version", ["46.0.1", "49.0.2", "50.0.0", "0.40.0"])
def test_an_older_version_is_refused_with_the_advisory_named(version: str) -> None:
    with pytest.raises(WasmtimeRefused, match=r"GHSA-vqjp-4c8c-hfgg and GHSA-m9f7-9w4p-gv38"):
        check_version(version)


@pytest.mark.parametrize("version", ["51.0.0", "60.1.2"])
def test_a_version_nobody_has_tried_is_refused(version: str) -> None:
    with pytest.raises(WasmtimeRefused, match="before version 51"):
        check_version(version)


def test_the_installed_version_is_known_and_good() -> None:
    check_version(installed_version())
    assert installed_version().count(".") >= 2
