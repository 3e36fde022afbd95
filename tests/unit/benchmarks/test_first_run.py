"""What a first run is measured by, and the mirror that it may take tools from."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from benchmarks.first_run import FirstRun, publish
from stowage_testbed.toolchain.manifest import Archive, load_manifest

LINES = (
    (0.5, "installing"),
    (4.5, "tools: 3 s, 0 of 7 installed"),
    (11.0, "passed paper/figure-1 in 6.1 s"),
    (12.0, "passed: 1 of 1 scenario runs passed"),
)


def test_a_run_is_measured_by_its_lines() -> None:
    """The end counts, too: a run that hangs at its end is silent."""
    run = FirstRun(LINES, total_s=14.0, busy_cores=1.9, cache_bytes=1)

    assert run.first_s == 11.0
    assert run.silence == (6.5, "tools: 3 s, 0 of 7 installed")
    assert replace(run, total_s=30.0).silence[0] == 18.0
    assert replace(run, lines=LINES[:1]).first_s is None


def test_a_mirror_has_archives_and_digests_as_projects_have_them(
    tmp_path: Path,
) -> None:
    """In a tarball or bare, and below the host's name."""
    binary = tmp_path / "etcd"
    binary.write_bytes(b"etcd")
    tool = load_manifest().tool("etcd", "1.37")
    url = "https://example.com/v1/etcd-{version}"
    bare = replace(tool, archive=Archive(url))
    packed = replace(tool, archive=Archive(f"{url}.tar.gz", "e/etcd", f"{url}.sums"))

    publish(bare, binary, tmp_path)
    publish(packed, binary, tmp_path)

    folder = tmp_path / "example.com" / "v1"
    file = folder / f"etcd-{tool.version}"
    digest = sha256(b"etcd").hexdigest()
    assert file.with_name(f"{file.name}.sha256").read_text().split()[0] == digest
    with tarfile.open(folder / f"{file.name}.tar.gz") as archive:
        assert archive.getnames() == ["e/etcd"]
    sums = (folder / f"{file.name}.sums").read_text().split()
    assert sums[1] == f"{file.name}.tar.gz"
