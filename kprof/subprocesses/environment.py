"""The environment of what kprof starts: the caller's, less what looks like a secret.

A kernel that a stranger wrote, or a program, has no business with the tokens of the shell that measures it. The rules
look at names and at a few unmistakable values, and prove nothing; ``docs/containment.md`` lists them for users.
"""

from __future__ import annotations

import getpass
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

KEEP_VARIABLE: Final = "KPROF_KEEP_ENV"
"""Names, separated by commas, that are passed on whatever they look like."""
_SECRET_WORDS: Final = frozenset(
    {
        "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
        "CREDS", "APIKEY", "AUTH", "AUTHORIZATION", "COOKIE", "COOKIES", "JWT", "DSN", "NETRC",
    }
)  # fmt: skip
"""A variable with one of these among the words of its name is left out: HF_TOKEN, but not TOKENIZERS_PARALLELISM."""
_SECRET_ENDINGS: Final = (
    "_KEY", "_KEYS", "_KEY_ID", "_PASS", "_PAT", "_PWD", "_WEBHOOK", "_WEBHOOK_URL", "_CONNECTION_STRING",
)  # fmt: skip
_SECRET_VALUES: Final = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@"  # a password in an address
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|^(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|AKIA|ASIA|eyJ[\w-]+\.eyJ)[\w.-]{8,}$"
)


def is_secret(name: str, value: str) -> bool:
    """The variable looks like a secret, by its name or by its value."""
    upper = name.upper()
    return (
        not _SECRET_WORDS.isdisjoint(re.split(r"[^A-Z0-9]+", upper))
        or upper.endswith(_SECRET_ENDINGS)
        or _SECRET_VALUES.search(value) is not None
    )


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy less what looks like a secret; what ``KPROF_KEEP_ENV`` names stays."""
    kept = {name.strip() for name in environment.get(KEEP_VARIABLE, "").split(",")}
    return {name: value for name, value in environment.items() if name in kept or not is_secret(name, value)}


def base_environment() -> dict[str, str]:
    """The caller's environment less its secrets, with kprof importable from wherever this kprof is.

    The current folder is not first on the path of a Python that starts with it.
    """
    environment = {**without_secrets(os.environ), "PYTHONSAFEPATH": "1"}
    package_root = str(Path(__file__).resolve().parents[2])
    if package_root not in (str(Path(p).resolve()) for p in sys.path if p and Path(p).name == "site-packages"):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, os.environ.get("PYTHONPATH"))))
    return environment


def scratch_environment(folder: Path) -> dict[str, str]:
    """Variables that put temporary files into ``folder``, which is removed in the end, and caches where they were.

    torch looks for what it has compiled below TMPDIR: that must be found again, not compiled again.
    """
    variables = {"TMPDIR": str(folder)}
    if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
        try:
            user = getpass.getuser()
        except (KeyError, OSError, ImportError):
            return variables
        variables["TORCHINDUCTOR_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"torchinductor_{user}")
    return variables
