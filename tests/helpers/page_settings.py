"""What makes the commands of the documentation small enough to be tried, and which are only looked at.

`page_runner` runs the commands of a page in a folder that has what pages speak of (`photos/`, `cifar10.npz`,
tables of benchmarks, a tiny CIFAR-10), with the words below added. Added words come last, and the last word
wins: names, flags and settings of the page are read and checked all the same.
"""

TINY = "epochs=1 net.channels=4 batch=128"
SEARCHED = f"{TINY} health.examples=32 checkpoint.keep=1"
ALONE = "--threads 1 --quiet"  # which leaves the forecast out, too

STACKED = "(darts|gdas|pc-darts|gaea-pc-darts|xnas|amended-s1)"

SMALLER = (
    (r"^search (?!.*--resume)", f"{SEARCHED} {ALONE}"),
    (r"^(search|train) --resume \S+ epochs=", "epochs=2 --threads 1 --no-report"),
    (r"^search .*--data (photos/|cifar10)", "data.size=8"),
    (r"^search (?!.*(--resume|--live))", "--no-report"),
    (rf"^search .*(--space (darts|xnas|s1|s1-dense)|--recipe {STACKED}) ", "space.cells=3"),
    (r"^search .*--recipe ((gaea-)?pc-darts|gaea-gdas-nb201-released) ", "method.warmup=0"),
    (r"^search .*--recipe xnas ", "data.autoaugment=none"),
    (r"^search .*--space (nb201|oneshot\d)", "space.cells=1"),
    (r"^train (?!.*--resume)", f"{TINY} {ALONE}"),
    (r"^train (?!.*(--resume|--live))", "--no-report"),
    (r"^train .*--data (photos/|cifar10)", "data.size=16 data.cutout=4"),
    (r"^train (darts-v2|pc-darts|xnas) ", "net.cells=3"),
    (r"^protocol (?!.*--resume)", "searches=1 short=1 seeds=1 random=count search.epochs=1 train.epochs=2"),
    (r"^protocol (?!.*--resume)", f"{ALONE} search.net.channels=4 train.net.channels=4 --no-report"),
    (r"^bench (?!.*--show)", f"{SEARCHED} draws=3 correlation=2 queries=2 --seeds 0 --jobs 1 {ALONE}"),
    (r"^analyse convergence ", f"{TINY} net.cells=3 --variants 1 --lr 0.025 --seeds 0 --jobs 1"),
    (r"^analyse landscape ", "--grid 3 --examples 16 --batch 16 --jobs 1"),
    (r"^analyse landscape \w+(-v\d)? ", f"{TINY} net.cells=3"),
    (r"^analyse landscape runs/\S+ darts-v2 ", f"{TINY} net.cells=3"),
    (r"^analyse hessian ", "--count 1 --examples 16"),
    (r"^analyse hessian .*--density ", "--probes 2 --degree 3"),
    (r"^analyse line ", "--points 3 --examples 16"),
    (r"^analyse theory linear-cells", "--problems 1 --norms 1"),
    (r"^analyse theory experts", "--experts 2 --runs 2 --steps 20"),
    (r"^analyse theory mirror-descent", "--dimensions 4 --runs 2"),
    (r"^analyse theory stationarity", "--iterations 1"),
    (r"^sweep .*yaml (?!.*--dry-run)", f"{TINY} {ALONE} epochs=3 grid.seed=0"),
    (r"^sweep .*yaml (?!.*(--dry-run|--jobs))", "--executor here"),
    (r"^runs rm ", "--yes"),
    (r"^demo", "--out runs/demo"),
)
"""Patterns of commands, without the name of the program, and what is added to those that have them."""

CHECKED = (
    r"^data get ",  # downloads
    r"^demo",  # half a minute
    r"^reproduce (?!.*--list)",  # minutes each; papers/tests does them small
    r"^oracle import ",  # gigabytes that nobody has here; tests/tables reads files in their layouts
    r"--executor (slurm|ray)",  # clusters; tests/sweep has them
    r"--processes 4",  # tests/sweep has two
    r"^bench .*--config results/",  # an hour
    r"imagenet",  # a hundred gigabytes
    r"^search .*--recipe (amended-s2|asm) ",  # 15 and 20 cells, each with decisions of its own
    r"--device cuda|deterministic=true",
    r"--follow",
)
"""Patterns of commands that are not run: the real parser reads their words, and names, recipes and settings
among them are looked up."""

DARTS_TRAINED = "dartboard train darts-v2 --recipe quick --data digits net.cells=3 checkpoint.steps=4"
BEFORE = {
    "docs/analyse.md": (
        "dartboard search --space nano --method darts --out runs/darts-digits-s0",
        "dartboard search --space nano --method gaea-darts --out runs/gaea-darts-digits-s0",
        "dartboard search --space nano --method asm --out runs/asm-digits-s0",
        DARTS_TRAINED,
    ),
    "docs/export.md": ("dartboard train darts-v2 --recipe darts-cifar --data cifar10",),
    "docs/oracles.md": (
        "dartboard search --space nb201 --method random --out runs/search-gaea-darts-nb201-s0",
    ),
    "docs/runs.md": ("dartboard search --space nano --method darts --data digits", DARTS_TRAINED),
    "docs/training.md": ("dartboard search --recipe quick",),
}
"""By page, commands that its reader has given before."""
