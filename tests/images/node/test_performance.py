"""Settings that a node makes. A setting that fails is reported and stops nothing. The machine is a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from node import performance as node_performance
from node.performance import MOST_CONNECTIONS, MachineFiles, ReportLine, Wanted

LARGE = "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
SMALL = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
CONNECTIONS = "proc/sys/net/netfilter/nf_conntrack_max"
BALANCING = "proc/sys/kernel/numa_balancing"
GOVERNORS = [f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor" for number in range(3)]

GIB = 1 << 20
"""One GiB in KiB."""


def machine(root: Path, *, gib: int = 256, wanted: Wanted | None = None, **more: str) -> MachineFiles:
    """Return a machine with every setting, as Debian's kernel leaves it."""
    files = {
        "proc/meminfo": f"MemTotal:       {gib * GIB} kB\nMemFree:        1 kB\n",
        LARGE: "0\n",
        SMALL: "0\n",
        THP: "[always] madvise never\n",
        CONNECTIONS: "262144\n",
        BALANCING: "1\n",
        **dict.fromkeys(GOVERNORS, "powersave\n"),
        **more,
    }
    write(root, files)
    return MachineFiles(wanted=wanted or Wanted(), root=root)


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def settled(place: MachineFiles) -> dict[str, str]:
    """Make the settings and return the content of each file."""
    list(node_performance.settled(place))
    return {name: (place.root / name).read_text().strip() for name in (LARGE, SMALL, THP, CONNECTIONS, BALANCING)}


def wrong(place: MachineFiles) -> list[str]:
    return [said.text for said in node_performance.settled(place) if said.wrong]


def test_everything_is_set(tmp_path: Path) -> None:
    place = machine(tmp_path, wanted=Wanted(gpus=8, huge_pages_gib=16))
    assert wrong(place) == []
    assert settled(place) == {LARGE: "16", SMALL: "0", THP: "madvise", CONNECTIONS: "1048576", BALANCING: "0"}
    assert {(tmp_path / name).read_text() for name in GOVERNORS} == {"performance"}


def test_without_gpus_and_a_number_the_rest_is_left_alone(tmp_path: Path) -> None:
    place = machine(tmp_path, **{LARGE: "4\n"})
    found = settled(place)
    assert (found[LARGE], found[BALANCING]) == ("4", "1")


@pytest.mark.parametrize(
    ("gib", "had", "has"),
    [(1, "65536", "65536"), (16, "262144", "262144"), (64, "262144", str(64 * 8192)), (2048, "262144", "1048576")],
)
def test_connections_are_by_memory_and_never_fewer_than_before(tmp_path: Path, gib: int, had: str, has: str) -> None:
    assert settled(machine(tmp_path, gib=gib, **{CONNECTIONS: had}))[CONNECTIONS] == has
    # The kernel's own table has a bucket for each 16 KiB of memory, at most 262,144 (nf_conntrack-sysctl).
    assert int(has) <= 4 * min(gib * GIB // 16, MOST_CONNECTIONS // 4)


def test_a_machine_without_any_of_it(tmp_path: Path) -> None:
    """A container, or a cloud machine with a small kernel."""
    write(tmp_path, {"proc/meminfo": "MemTotal: 1048576 kB\n"})
    place = MachineFiles(wanted=Wanted(gpus=1), root=tmp_path)
    assert wrong(place) == ["nf_conntrack_max: connections are not tracked yet (module nf_conntrack)"]
    said = [one.text for one in node_performance.settled(place)]
    assert "scaling_governor: this machine does not govern its processors' frequency itself" in said
    assert "transparent_hugepage: this kernel has none" in said


def test_what_may_not_be_written_is_said_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = machine(tmp_path, wanted=Wanted(gpus=8, huge_pages_gib=16))
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}

    def refuse(file: Path, _text: str) -> int:
        raise OSError(30, "Read-only file system", str(file))

    monkeypatch.setattr(Path, "write_text", refuse)
    assert sorted(wrong(place)) == [
        "huge pages: 0 of 1 GiB, not 16: Read-only file system",
        "nf_conntrack_max: not 1048576, stays 262144: Read-only file system",
        "numa_balancing: not 0, stays 1: Read-only file system",
        "scaling_governor: not performance on 3 of 3 processors: Read-only file system",
        "transparent_hugepage: not madvise, stays [always] madvise never: Read-only file system",
    ]
    assert {path: path.read_text() for path in before} == before


def test_what_is_as_it_should_be_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a container whose host has the right values gets no error about a write."""
    place = machine(
        tmp_path,
        wanted=Wanted(gpus=8, huge_pages_gib=16),
        **{LARGE: "16\n", THP: "always [madvise] never\n", CONNECTIONS: "2000000\n", BALANCING: "0\n"},
        **dict.fromkeys(GOVERNORS, "performance\n"),
    )
    monkeypatch.setattr(Path, "write_text", lambda *_: pytest.fail("it wrote"))
    assert wrong(place) == []


def test_one_setting_that_cannot_even_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    place = machine(tmp_path, **{CONNECTIONS: "many\n"})
    assert settled(place)[THP] == "madvise"
    (text,) = wrong(place)
    assert text.startswith("net.netfilter.nf_conntrack_max: ")


# Huge pages.


def test_a_machine_with_small_huge_pages_alone_gets_those(tmp_path: Path) -> None:
    place = machine(tmp_path, wanted=Wanted(huge_pages_gib=2))
    (tmp_path / LARGE).unlink()
    (tmp_path / LARGE).parent.rmdir()
    (text,) = wrong(place)
    assert "hugepages-2Mi" in text
    assert (tmp_path / SMALL).read_text() == "1024"


@pytest.mark.parametrize("gib", [0, 4])
def test_pages_of_2_mib_are_beside_the_others(tmp_path: Path, gib: int) -> None:
    place = machine(tmp_path, wanted=Wanted(huge_pages_gib=gib, huge_pages_2mib=5128))
    assert wrong(place) == []
    assert [int((tmp_path / name).read_text()) for name in (LARGE, SMALL)] == [gib, 5128]


def test_pages_of_2_mib_are_added_where_those_stand_for_larger_ones(tmp_path: Path) -> None:
    place = machine(tmp_path, wanted=Wanted(huge_pages_gib=2, huge_pages_2mib=100))
    (tmp_path / LARGE).unlink()
    (tmp_path / LARGE).parent.rmdir()
    wrong(place)
    assert int((tmp_path / SMALL).read_text()) == 2 * 512 + 100


@pytest.mark.parametrize("large", [True, False], ids=["1gib", "2mib-alone"])
@pytest.mark.parametrize(("gib", "refused"), [(47, False), (48, True)])
def test_both_sizes_count_and_adapters_keep_theirs(tmp_path: Path, gib: int, refused: bool, large: bool) -> None:
    """Of 64 GiB, 57.6 may be huge pages, and the adapters' 5,128 are 10.02 GiB."""
    place = machine(tmp_path, gib=64, wanted=Wanted(huge_pages_gib=gib, huge_pages_2mib=5128))
    if not large:
        (tmp_path / LARGE).unlink()
        (tmp_path / LARGE).parent.rmdir()
    said = wrong(place)
    assert [text for text in said if "with 10.0 GiB for network adapters" in text] == said[:refused]
    got = [int((tmp_path / name).read_text()) for name in (LARGE, SMALL) if (tmp_path / name).exists()]
    kept = 0 if refused else gib
    assert got == ([kept, 5128] if large else [kept * 512 + 5128])


def test_adapters_alone_do_not_take_almost_all_memory(tmp_path: Path) -> None:
    place = machine(tmp_path, gib=11, wanted=Wanted(huge_pages_2mib=5128))
    (text,) = wrong(place)
    assert "10.0 GiB for network adapters" in text
    assert int((tmp_path / SMALL).read_text()) == 0


def test_a_kernel_without_huge_pages(tmp_path: Path) -> None:
    write(tmp_path, {"proc/meminfo": f"MemTotal: {64 * GIB} kB\n"})
    found = list(node_performance.huge_pages(MachineFiles(wanted=Wanted(huge_pages_gib=2), root=tmp_path)))
    assert found == [ReportLine(text="huge pages: this kernel has none, and huge_pages_gib is 2", wrong=True)]


def test_memory_in_pieces_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = machine(tmp_path, wanted=Wanted(huge_pages_gib=16))
    write_text = Path.write_text

    def fewer(file: Path, text: str) -> int:
        return write_text(file, "11" if text == "16" else text)

    monkeypatch.setattr(Path, "write_text", fewer)
    (text,) = wrong(place)
    assert text.startswith("huge pages: 11 of 1 GiB, not 16: ")
    assert "Reboot" in text
    assert "hugepagesz=1G hugepages=16" in text


@pytest.mark.parametrize(("asked", "refused"), [(57, False), (58, True), (4096, True)])
def test_almost_all_memory_is_refused(tmp_path: Path, asked: int, refused: bool) -> None:
    place = machine(tmp_path, gib=64, wanted=Wanted(huge_pages_gib=asked))
    assert [f"huge_pages_gib is {asked}" in text for text in wrong(place)] == [True] * refused
    assert (tmp_path / LARGE).read_text().strip() == ("0" if refused else str(asked))


@pytest.mark.parametrize(
    "cgroup", ["kubepods.slice/kubepods-burstable.slice/pod", "kubepods/besteffort/pod", "cpu/kubepods/pod1"]
)
def test_not_beside_pods(tmp_path: Path, cgroup: str) -> None:
    place = machine(tmp_path, wanted=Wanted(huge_pages_gib=16))
    procs = f"sys/fs/cgroup/{cgroup}/container/cgroup.procs"
    write(tmp_path, {procs: "4711\n"})
    (text,) = wrong(place)
    assert "Drain the node" in text
    assert (tmp_path / LARGE).read_text() == "0\n"
    write(tmp_path, {procs: ""})
    assert wrong(place) == []
    assert (tmp_path / LARGE).read_text() == "16"


# As the unit starts it.


@pytest.mark.parametrize("text", ["{", "[]", '{"gpus": "many"}', '{"huge_pages_gib": null}', None])
def test_a_node_json_that_says_nothing_stops_nothing(
    tmp_path: Path, text: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node_performance, "NODE", tmp_path / "node.json")
    monkeypatch.setattr(node_performance, "settled", lambda place: [ReportLine(text=repr(place.wanted))])
    if text is not None:
        (tmp_path / "node.json").write_text(text)
    assert node_performance.main() == 0
    captured = capsys.readouterr()
    assert captured.out == f"{Wanted()!r}\n"
    assert str(tmp_path / "node.json") in captured.err


def test_a_worker_s_node_json(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"role": "node", "gpus": 8, "huge_pages_gib": 64}))
    assert Wanted.read(path) == Wanted(gpus=8, huge_pages_gib=64)
    path.write_text(json.dumps({"role": "node"}))
    assert Wanted.read(path) == Wanted()
