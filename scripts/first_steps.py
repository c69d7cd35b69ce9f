"""Does what a new user does: clones the repository, starts with an empty environment and types what the pages say.

Usage: make first-steps. Takes what is committed; ends at the first command that fails.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from documentation.pages import CLONE, FILE, PAGES, ROOT, RUN, name, pieces

WHOLE = "README.md"
"""The page of which everything is typed, also what the tests run anyway: it has to be enough by itself."""


def main() -> int:
    """Clone, type, and say what failed."""
    with TemporaryDirectory(prefix="tasoopt-first-") as folder:
        clone = Path(folder) / "tasoopt"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        session = "\n".join(("set -eo pipefail", *lines()))
        code = subprocess.run(["bash", "-c", session], cwd=clone, env=clean(Path(folder)), check=False).returncode
    print(
        "all first steps work" if code == 0 else f"expected every command to work, found exit code {code}", flush=True
    )
    return 1 if code else 0


def lines() -> Iterator[str]:
    """The whole session as lines for bash, each command announced before it runs."""
    for page in PAGES:
        for piece in pieces(page):
            if piece.marker.startswith(FILE):
                target = shlex.quote(piece.marker.removeprefix(FILE))
                yield f"cat > {target} <<'END_OF_FILE'\n{piece.body}END_OF_FILE"
            elif piece.marker == CLONE or (name(page) == WHOLE and piece.marker == RUN):
                for command, _ in piece.steps:
                    yield f"printf '\\n%s$ %s\\n' {shlex.quote(name(page))} {shlex.quote(command)}"
                    yield command


def clean(folder: Path) -> Mapping[str, str]:
    """The environment of a user who has not installed anything: no virtual environment, no options, no costs."""
    own = str(Path(sys.executable).parent)
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("TASOOPT_", "VIRTUAL_ENV", "PYTHON"))
    }
    path = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)
    return {
        **kept,
        "PATH": path,
        "TASOOPT_CACHE": str(folder / "cache"),
        "PRE_COMMIT_HOME": str(folder / "hooks"),
        "MAKEFLAGS": "",
    }


if __name__ == "__main__":
    sys.exit(main())
