"""What the documentation shows is what happens."""

import json
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
TINY = ("batch=256", "net.channels=4", "health.examples=64", "epochs=2")


def program(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("dartboard"), *words],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_method_of_the_page_searches_and_resumes(tmp_path: Path) -> None:
    text = (DOCS / "write-a-method.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / code.splitlines()[0].removeprefix("# ")).write_text(code)
    plugin = ("--plugin", "sign_gaea.py")
    listed = program("list", "methods", *plugin, folder=tmp_path).stdout
    assert re.search(r"^sign-gaea +GAEA with the signs of the gradient alone$", listed, re.MULTILINE)
    search = ("search", *plugin, "--method", "sign-gaea", "method.lr=0.1", *TINY, "--out", "run", "--json")
    first = json.loads(program(*search, folder=tmp_path).stdout)
    refused = program("search", "--resume", "run", folder=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.endswith(f"if you trust it, add --plugin {tmp_path / 'sign_gaea.py'}\n")
    again = json.loads(program("search", "--resume", "run", *plugin, "--json", folder=tmp_path).stdout)
    assert again["digest"] == first["digest"]
