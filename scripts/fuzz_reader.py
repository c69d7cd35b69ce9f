"""Feeds damaged models and rules to the readers and looks for anything but an answer or an error of one line.

Usage: python scripts/fuzz_reader.py [--seconds S] [--seed N] [--keep FOLDER] [--atheris]; exits 1 when there is a
crash, which is kept as a file. Inputs grow from valid ones by mutation; those that get further than others (that are
read, or refused in words not heard before) join the pool. With --atheris, where that package is installed, its coverage
of the readers chooses instead.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzzing import seeds
from fuzzing.mutate import Mutate, mutated_model, mutated_rules
from taso_opt.errors import TasoError
from taso_opt.onnx_io import read_model
from taso_opt.rewrite.ruleset.compiled import CompiledRules
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules

HANG_S = 30
"""An input that keeps a reader busy for longer counts as a crash."""

LARGEST_POOL = 2000


@dataclass
class Target:
    """One reader: what it starts from, how that is changed, and what it does with a file."""

    name: str
    pool: list[bytes]
    mutate: Mutate
    read: Callable[[Path], object]
    answers: Counter[str] = field(default_factory=Counter)

    def answer(self, path: Path) -> str:
        """Read a file: 'read', or the error without what it quotes; AssertionError for an error of another form."""
        try:
            self.read(path)
        except TasoError as error:
            text = str(error)
            if "\n" in text or error.exit_code not in (3, 4):
                raise AssertionError(f"expected one line and exit code 3 or 4, found {text!r}") from error
            return re.sub(r"'[^']*'|\"[^\"]*\"|[\d(\[].*", "_", text.replace(str(path), "FILE"))[:120]
        return "read"


def targets() -> tuple[Target, Target]:
    """The reader of models and that of rules, which also compiles what it reads."""
    library = load_specs()
    builder = library.builder()

    def rules(path: Path) -> object:
        return list(CompiledRules(read_rules(path, builder), builder))

    return (
        Target("model", list(seeds.models()), mutated_model, lambda path: read_model(path, library)),
        Target("rules", list(seeds.rules()), mutated_rules, rules),
    )


def fuzz(seconds: float, seed: int, folder: Path, both: Sequence[Target], most: int = sys.maxsize) -> int:
    """Feed the readers for so long, in this process; the number of inputs. What is being read stands in the folder."""
    random, count, end = Random(seed), 0, time.monotonic() + seconds
    (folder / seeds.DATA_FILE).write_bytes(bytes(seeds.DATA_BYTES))
    while time.monotonic() < end and count < most:
        target = both[count % 2]
        content = target.mutate(random, random.choice(target.pool), target.pool)
        path = folder / target.name
        path.write_bytes(content)
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        try:
            answer = target.answer(path)
        finally:
            faulthandler.cancel_dump_traceback_later()
        target.answers[answer] += 1
        is_new = target.answers[answer] < 4 or (answer == "read" and random.random() < 0.05)
        if is_new and len(content) < 1 << 16:
            target.pool[len(target.pool) % LARGEST_POOL :] = [content]
        count += 1
    return count


def with_atheris(seconds: float, folder: Path) -> None:
    """The same with coverage as the guide; libFuzzer prints its figures and ends the process."""
    atheris = import_module("atheris")  # never a dependency: it is built for few versions of Python
    atheris.instrument_all()
    both = targets()
    (folder / seeds.DATA_FILE).write_bytes(bytes(seeds.DATA_BYTES))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, target in enumerate(both):
        for at, content in enumerate(target.pool):
            (corpus / f"{target.name}{at}").write_bytes(bytes([number]) + content)

    def one_input(data: bytes) -> None:
        target = both[data[0] % 2 if data else 0]
        (folder / target.name).write_bytes(data[1:])
        target.answer(folder / target.name)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        target = both[data[0] % 2 if data else 0]
        return (data[:1] or b"\0") + target.mutate(Random(seed), data[1:], target.pool)[: most - 1]

    options = [f"-max_total_time={seconds:.0f}", "-max_len=60000", f"-timeout={HANG_S}", "-print_final_stats=1"]
    # The proofs' solver and the runtime never load here; memory that a reader takes beyond this is a defect.
    options += ["-rss_limit_mb=3000", f"-artifact_prefix={folder}/", str(corpus)]
    atheris.Setup([sys.argv[0], *options], one_input, custom_mutator=mutate)
    atheris.Fuzz()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run children until the time is up; a child that dies is a crash, and another one goes on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-crashes"), help="where crashes are kept")
    parser.add_argument("--atheris", action="store_true", help="let coverage guide the mutations")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        return _child(options)
    crashes, seed, end = 0, options.seed, time.monotonic() + options.seconds
    while (left := end - time.monotonic()) > 1:
        with TemporaryDirectory(prefix="fuzz-") as folder:
            more = ["--seconds", f"{left}", "--seed", f"{seed}", "--child", folder] + ["--atheris"] * options.atheris
            done = subprocess.run([sys.executable, __file__, *more], check=False, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                crashes += 1
                _keep(Path(folder), options.keep / f"seed{seed}", done)
            elif options.atheris:
                print("\n".join(line for line in done.stderr.splitlines() if line.startswith(("stat::", "Done"))))
        seed += 1
    print(f"{crashes} crashes in {options.seconds:.0f} s")
    return 1 if crashes else 0


def _child(options: Any) -> int:
    if options.atheris:
        with_atheris(options.seconds, options.child)
        return 0
    both = targets()
    count = fuzz(options.seconds, options.seed, options.child, both)
    print(f"{count} inputs, {' and '.join(f'{len(one.answers)} different answers to {one.name}' for one in both)}")
    for target in both:
        share = target.answers["read"] / max(target.answers.total(), 1)
        print(f"{target.name}: {target.answers.total()} inputs, {share:.0%} of them read, the rest refused in one line")
    return 0


def _keep(folder: Path, place: Path, done: subprocess.CompletedProcess[str]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / "stderr.txt").write_text(done.stderr)
    for path in folder.iterdir():
        if path.is_file():
            (place / path.name).write_bytes(path.read_bytes())
    print(f"a crash (exit status {done.returncode}), kept in {place}: {done.stderr.strip().splitlines()[-1:]}")


if __name__ == "__main__":
    sys.exit(main())
