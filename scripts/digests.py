"""Check that results have not changed by one bit: digests of short searches, trainings, a protocol and more.

    python scripts/digests.py                      check this tree against scripts/digests.json
    python scripts/digests.py --write              write scripts/digests.json from this tree
    python scripts/digests.py --compare REV [REV]  run two commits side by side, or one and this tree

Bits depend on the processor and the build of torch, so the committed list counts only on a machine like
the one that it names; `--compare` counts anywhere. All runs through the command line, one
thread a process.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "scripts" / "digests.json"
METHODS = (
    "amended-darts",
    "asm",
    "darts",
    "darts-2nd",
    "gaea-darts",
    "gaea-darts-erm",
    "gaea-gdas",
    "gaea-pc-darts",
    "gdas",
    "pc-darts",
    "random",
    "random-ws",
    "xnas",
)
SMALL = (
    "net.channels=4",
    "batch=64",
    "health.examples=64",
    "data.pad=1",
    "data.flip=true",
    "net.drop_path=0.1",
)
OPTIONS = {
    "amended-darts": ("lr=0.0003",),
    "asm": ("init=random",),
    "darts": ("lr=0.0003",),
    "darts-2nd": ("lr=0.0003",),
    "gaea-darts": ("lr=0.1",),
    "gaea-darts-erm": ("lr=0.1",),
    "gaea-gdas": ("lr=0.1", "explore=0", "warmup=0"),
    "gaea-pc-darts": ("lr=0.1", "partial=4", "warmup=1"),
    "gdas": ("lr=0.0003", "explore=0", "warmup=0"),
    "pc-darts": ("lr=0.0006", "partial=4", "warmup=1"),
    "xnas": ("bound=1",),
}
"""What the papers have; the defaults are rules of the library, and have rows of their own."""
BENCH = (
    *("--space", "nano", "--data", "cluttered-digits", "--methods", "gaea-darts-erm", "--seeds", "0-1"),
    "methods.gaea-darts-erm.method.lr=0.1",
)
LARGE_SPACES = {"nb201": ("space.cells=1",), "darts": ("space.cells=3",)}
PROTOCOL = (
    *("--method", "gaea-darts-erm", "--search-recipe", "quick", "--train-recipe", "quick"),
    *("searches=2", "seeds=1", "short=1", "search.epochs=1", "train.epochs=1", "random=count"),
    "search.method.lr=10",
    *("search.net.channels=4", "train.net.channels=4", "train.net.cells=3"),
)


def cases() -> dict[str, tuple[str, ...]]:
    """Command of every case by name; all run in one new folder, in this order."""
    found = {}
    for method in METHODS:
        words = ("--epochs", "2", "--data", "digits", *SMALL)
        found[f"search nano {method}"] = _search("nano", method, *words, *_options(method))
        if method in OPTIONS:
            place = f"defaults-{method}"
            found[f"search nano {method}, defaults"] = _search("nano", method, *words, name=place)
    for space, shrink in LARGE_SPACES.items():
        for method in ("darts", "gaea-darts-erm"):
            words = ("--data", "digits", *SMALL, *shrink, *_options(method))
            found[f"search {space} {method}"] = _search(space, method, "--epochs", "1", *words)
    two = ("--epochs", "2", "--data", "digits", "--processes", "2", *SMALL, *_options("gaea-darts"))
    found["search nano gaea-darts, two processes"] = _search("nano", "gaea-darts", *two, name="two")
    train = ("--recipe", "quick", "--data", "digits", "--epochs", "2", "net.channels=4", "net.drop_path=0.1")
    found["train nano"] = ("train", "search-nano-darts", *train, "--no-report", "--out", "train")
    found["protocol"] = ("protocol", *PROTOCOL, "--no-report", "--out", "protocol")
    found["bench, random and evolution"] = (
        "bench",
        *BENCH,
        *SMALL,
        "epochs=1",
        "queries=100",
        "draws=20",
        "--out",
        "bench",
    )
    return found


def _options(method: str) -> list[str]:
    return [f"method.{option}" for option in OPTIONS.get(method, ())]


def _search(space: str, method: str, *words: str, name: str = "") -> tuple[str, ...]:
    place = name or f"search-{space}-{method}"
    return ("search", "--space", space, "--method", method, *words, "--no-report", "--out", place)


def digests(source: Path, names: set[str] | None = None) -> dict[str, str]:
    """The digest of every case, computed by the package under `source`; printed as they are computed.

    The commands are those of the commit, for later ones may name options that it does not have.
    """
    found = {}
    commands = run_path(str(source.parent / "scripts" / "digests.py"))["cases"]()
    with TemporaryDirectory() as folder:
        for name, command in commands.items():
            if names is None or name in names:
                found[name] = _digest(source, command, Path(folder))
                print(f"{found[name]}  {name}", flush=True)
    return found


def _digest(source: Path, command: tuple[str, ...], folder: Path) -> str:
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    paths = os.pathsep.join(str(path) for path in (source, source.parent / "papers" / "src") if path.exists())
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "dartboard", *command, "--threads", "1", "--json"],
        cwd=folder,
        env={**os.environ, **threads, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"failed with code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    facts = json.loads(done.stdout.strip().splitlines()[-1])
    return str(facts["digest"]) if "digest" in facts else _digest_of_many(facts, folder)


def _digest_of_many(facts: dict[str, Any], folder: Path) -> str:
    """One digest of a protocol or a bench: of all runs inside it, sorted by folder, and of the scores."""
    path = folder / str(facts.get("run", facts.get("out")))
    results = sorted(path.glob("**/result.json"))
    inside = [json.loads(result.read_text())["digest"] for result in results if result.parent != path]
    rows = [(row["label"], row["tests"], row["regret"]) for row in facts.get("table", {}).get("rows", ())]
    return sha256(json.dumps([inside, rows]).encode()).hexdigest()


def machine() -> dict[str, str]:
    """Properties of the machine that affect the bits of results."""
    import torch

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    vector = torch.backends.cpu.get_cpu_capability()
    return {
        "processor": names[0] if names else platform.processor(),
        "vector": vector,
        "torch": torch.__version__,
    }


@contextmanager
def checkout(revision: str | None) -> Iterator[Path]:
    """The source folder of a commit in a temporary work tree; of this tree for None."""
    if revision is None:
        yield ROOT / "src"
        return
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "-q", tree, revision], check=True)  # noqa: S603, S607
        try:
            yield tree / "src"
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)  # noqa: S603, S607


def compare(expected: Mapping[str, str], found: Mapping[str, str]) -> int:
    """Print the cases that differ, and return the exit code."""
    wrong = [name for name in expected if expected[name] != found.get(name)]
    for name in found.keys() - expected.keys():
        print(f"new: {name}")
    for name in wrong:
        print(f"differs: {name}\n  {expected[name]}\n  {found.get(name)}")
    print(f"{len(expected) - len(wrong)} of {len(expected)} digests are equal")
    return 1 if wrong or not expected else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the list instead of checking it")
    parser.add_argument("--compare", nargs="+", metavar="REV", help="one or two commits")
    parser.add_argument(
        "--only", nargs="+", metavar="CASE", help="these cases alone; `train nano` needs its search"
    )
    args = parser.parse_args()
    names = None if args.only is None else set(args.only)
    if args.compare:
        with (
            checkout(args.compare[0]) as first,
            checkout(args.compare[1] if args.compare[1:] else None) as second,
        ):
            return compare(digests(first, names), digests(second, names))
    found = digests(ROOT / "src", names)
    if args.write:
        changed = json.loads(LIST.read_text()).get("changed", {})  # why a digest is not what it once was
        LIST.write_text(
            json.dumps({"machine": machine(), "changed": changed, "digests": found}, indent=2) + "\n"
        )
        return 0
    listed = json.loads(LIST.read_text())
    if listed["machine"] != machine():
        print(f"the list was written on {listed['machine']}, another machine: use --compare")
    return compare(
        {name: value for name, value in listed["digests"].items() if names is None or name in names}, found
    )


if __name__ == "__main__":
    sys.exit(main())
