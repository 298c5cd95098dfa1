"""The price file: valid content, refusals, and writing."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal
from errno import ENOSPC
from pathlib import Path

import pytest

from clouds.base.prices import HostKey, MachineKey, PartKey, plain
from components.model.prices.book import BookError, PriceBook
from longhaul.prices.write import save, text
from tests.longhaul.prices.conftest import price

GOOD = """\
format: 1
machines:
  - cloud: azure
    region: westeurope
    machine_type: Standard_D8s_v5
    amount: "0.4605"
    currency: USD
    unit: hour
    source: https://prices.example/x
    read: 2026-02-01
  - {cloud: aws, region: us-east-1, machine_type: p5.48xlarge, spot: true, amount: "20.10", currency: USD, unit: hour,
     source: contract, read: 2026-01-31, note: agreed in January}
parts:
  - {cloud: aws, region: us-east-1, part: nat-gateway, amount: "0.05", currency: USD, unit: hour, source: contract,
     read: 2026-01-31}
hosts:
  - {site: colo, amount: "730", currency: EUR, unit: month, source: contract, read: 2026-01-01}
"""


def written(folder: Path, content: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(content, encoding="utf-8")
    return path


def problems(folder: Path, content: str) -> list[str]:
    """Return the problems of a file as users read them, without the path."""
    path = written(folder, content)
    with pytest.raises(BookError) as refused:
        PriceBook.load(path)
    assert str(refused.value).splitlines()[0].endswith("in the price file:")
    return [str(problem).replace(f"{path}:", "") for problem in refused.value.problems]


def test_prices_are_found_by_what_they_are_for(tmp_path: Path) -> None:
    book = PriceBook.load(written(tmp_path, GOOD))
    found = book.find(MachineKey(cloud="azure", region="westeurope", machine_type="Standard_D8s_v5", spot=False))
    assert found is not None
    assert (found.amount, found.hourly, found.monthly) == (Decimal("0.4605"), Decimal("0.4605"), Decimal("336.165"))
    assert (found.currency, found.source, found.read) == ("USD", "https://prices.example/x", date(2026, 2, 1))
    spot = book.find(MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge", spot=True))
    assert spot is not None
    assert (spot.amount, spot.note) == (Decimal("20.1"), "agreed in January")
    nat = book.find(PartKey(cloud="aws", region="us-east-1", part="nat-gateway"))
    assert nat is not None
    assert str(nat) == "0.05 USD an hour"
    host = book.find(HostKey(site="colo"))
    assert host is not None
    assert (host.hourly, host.monthly, str(host)) == (Decimal(1), Decimal(730), "730 EUR a month")


def test_spot_and_ordinary_prices_are_never_each_others(tmp_path: Path) -> None:
    book = PriceBook.load(written(tmp_path, GOOD))
    assert book.find(MachineKey(cloud="azure", region="westeurope", machine_type="Standard_D8s_v5", spot=True)) is None
    assert book.find(MachineKey(cloud="aws", region="us-east-1", machine_type="p5.48xlarge", spot=False)) is None
    assert book.find(MachineKey(cloud="azure", region="eastus", machine_type="Standard_D8s_v5", spot=False)) is None


def test_everything_wrong_is_one_report_with_lines(tmp_path: Path) -> None:
    wrong = (
        GOOD.replace('"0.4605"', "0.4605")
        .replace("currency: EUR", "currency: euro")
        .replace("part: nat-g", "part: nut-g")
    )
    wrong = wrong.replace("note: agreed", "nota: agreed")
    found = problems(tmp_path, wrong)
    assert [line.split(":")[0] for line in found] == ["6", "12", "14", "17"]
    assert found[0] == '6: machines.0.amount: 0.4605 is not text\n    write: "0.4605", in quotes'
    assert "machines.1.nota: is not a key that Longhaul knows" in found[1]
    assert "write: note, if that was meant" in found[1]
    assert "parts.0.part: 'nut-gateway' is not among the choices" in found[2]
    assert "nat-gateway" in found[2]
    assert (
        found[3]
        == "17: hosts.0.currency: 'euro' is not a currency's three letters, such as USD\n    write: for example USD"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"0.4605"', '"-1"', "is not a number in quotes"),
        ('"0.4605"', '"1e3"', "is not a number in quotes"),
        ('"0.4605"', '"NaN"', "is not a number in quotes"),
        ('"0.4605"', '"1,5"', "is not a number in quotes"),
        ("unit: month", "unit: year", "'year' is not among the choices"),
        ("format: 1", "format: 2", "format: 2 is not among the choices"),
        ("read: 2026-02-01", "read: 2026-02-30", "machines.0.read: '2026-02-30' is not a day of the calendar"),
        ("read: 2026-02-01", "read: yesterday", "is not a day, such as 2026-01-31"),
        ("    source: https://prices.example/x\n", "", "machines.0.source: is missing"),
        ("format: 1\n", "", "format: is missing"),
    ],
)
def test_a_wrong_value_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    (found,) = problems(tmp_path, GOOD.replace(old, new, 1))
    assert said in found


def test_a_second_price_of_the_same_thing_is_refused(tmp_path: Path) -> None:
    again = '  - {site: colo, amount: "1", currency: EUR, unit: month, source: contract, read: 2026-01-01}\n'
    (found,) = problems(tmp_path, GOOD + again)
    assert found.startswith("18: hosts.1: is a second price of host, colo, after hosts.0")


@pytest.mark.parametrize("content", ["", "[]", "format: [", "just words"])
def test_what_is_no_price_file_is_refused(tmp_path: Path, content: str) -> None:
    assert len(problems(tmp_path, content)) == 1


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="does not exist"):
        PriceBook.load(tmp_path / "prices.yaml")


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    book = PriceBook.load(written(tmp_path, GOOD))
    path = tmp_path / "other.yaml"
    save(book, path)
    assert PriceBook.load(path) == book
    assert text(PriceBook.load(path)) == path.read_text(encoding="utf-8")


def test_the_order_of_prices_does_not_show(tmp_path: Path) -> None:
    book = PriceBook.load(written(tmp_path, GOOD))
    assert text(PriceBook(dict(reversed([*book.prices.items()])))) == text(book)


def test_the_file_as_people_see_it(tmp_path: Path) -> None:
    key = MachineKey(cloud="aws", region="us-east-1", machine_type="m6id.xlarge")
    entry = """\
machines:
- cloud: aws
  region: us-east-1
  machine_type: m6id.xlarge
  amount: '0.25'
  currency: USD
  unit: hour
  source: contract
  read: '2026-02-01'
"""
    assert text(PriceBook({key: price("0.2500")})).endswith(f"\nformat: 1\n{entry}")


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    before = path.stat().st_ino
    save(PriceBook({HostKey(site="colo"): price("1")}), link)
    assert link.is_symlink()
    assert path.stat().st_ino != before
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link.yaml", "prices.yaml"]


def test_a_disk_that_is_full_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(ENOSPC, "No space left on device")

    path = written(tmp_path, GOOD)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(PriceBook({HostKey(site="colo"): price("1")}), path)
    assert path.read_text(encoding="utf-8") == GOOD
    assert [entry.name for entry in tmp_path.iterdir()] == ["prices.yaml"]


@pytest.mark.parametrize(
    ("amount", "written_as"),
    [("0.2500000000", "0.25"), ("100", "100"), ("0", "0"), ("1E-7", "0.0000001"), ("1E+3", "1000")],
)
def test_amounts_have_no_exponent(amount: str, written_as: str) -> None:
    assert plain(Decimal(amount)) == written_as
