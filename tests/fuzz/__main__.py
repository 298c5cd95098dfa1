"""``python -m tests.fuzz``: fuzz one reader with Atheris, or all of them one after the other."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.catalogue import TARGETS
from tests.fuzz.mutations import mutated

MEMORY_MB = 1024
"""Most memory of a reader's process, the fuzzer's own in it."""
ANSWER_S = 10
"""Longest time for one input, seconds."""
LARGEST = 64 * 1024
"""Largest input in bytes. Readers have limits of their own, of up to 16 MiB."""
FOLLOWED = ("clouds", "components", "contract", "controller", "join_endpoint", "longhaul", "machine", "node")


def main(argv: list[str] | None = None) -> int:
    """Return 0 when nothing was found; else the input that broke a reader lies in the present folder."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=[*TARGETS, "all"], help="the reader")
    parser.add_argument("--seconds", type=int, default=60, help="time for each, seconds (default: %(default)s)")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="keep what was tried here, and go on from it")
    options = parser.parse_args(argv)
    if options.target == "all":
        return max(_apart(name, options.seconds) for name in TARGETS)
    with tempfile.TemporaryDirectory(prefix="longhaul-fuzz-") as folder:
        _fuzz(options.target, Path(folder), corpus=options.corpus, seconds=options.seconds)
    return 0


def _apart(name: str, seconds: int) -> int:
    """Fuzz a target in a process of its own, as the fuzzer ends the one that it is in."""
    print(f"== {name}", file=sys.stderr, flush=True)
    return subprocess.run([sys.executable, "-m", "tests.fuzz", name, f"--seconds={seconds}"], check=False).returncode


def _fuzz(name: str, folder: Path, *, corpus: Path | None, seconds: int) -> None:
    import atheris

    work, corpus = folder / "work", corpus or folder / "corpus"
    work.mkdir()
    corpus.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=list(FOLLOWED)):
        target = TARGETS[name](work)
    for index, seed in enumerate(target.written()):
        (corpus / f"seed-{index}").write_bytes(seed)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        new = mutated(data, seed) if seed % 2 else None
        return new if new is not None and len(new) <= most else bytes(atheris.Mutate(data, most))

    limits = [f"-timeout={ANSWER_S}", f"-rss_limit_mb={MEMORY_MB}", f"-max_len={LARGEST}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", *limits, str(corpus)], target.read, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
