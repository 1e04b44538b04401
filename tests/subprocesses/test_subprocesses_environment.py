"""What a worker and the tools round it get of the caller's environment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kprof.subprocesses.environment import base_environment, is_secret, scratch_environment, without_secrets

SECRETS = {
    "HF_TOKEN": "x",
    "GITHUB_TOKEN": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_ACCESS_KEY_ID": "x",
    "OPENAI_API_KEY": "x",
    "WANDB_API_KEY": "x",
    "my_password": "x",
    "DB_PASS": "x",
    "MYSQL_PWD": "x",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "GOOGLE_APPLICATION_CREDENTIALS": "/home/u/key.json",
    "SLACK_WEBHOOK_URL": "https://x",
    "SENTRY_DSN": "https://x",
    # Names that say nothing, values that do.
    "PIP_INDEX_URL": "https://user:word@host/simple",
    "HTTPS_PROXY": "http://:word@proxy:3128",
    "DATABASE_URL": "postgres://u:p@host/db",
    "THING": "ghp_0123456789abcdef0123456789abcdef0123",
    "OTHER": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
    "THIRD": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef0123",
}
NEEDED = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/root",
    "PWD": "/work",
    "OLDPWD": "/",
    "CUDA_HOME": "/usr/local/cuda",
    "CUDA_PATH": "/usr/local/cuda",
    "CUDA_VISIBLE_DEVICES": "GPU-8d6a",
    "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    "LD_PRELOAD": "libasan.so",
    "CC": "gcc",
    "CXX": "ccache g++",
    "NVCC_APPEND_FLAGS": "-O3",
    "TORCH_CUDA_ARCH_LIST": "9.0a",
    "TORCH_HOME": "/cache",
    "HF_HOME": "/cache",
    "TOKENIZERS_PARALLELISM": "false",
    "MAX_TOKENS": "4096",
    "TRITON_PASS_PLUGIN_PATH": "/x.so",
    "KEYBOARD": "us",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "PIP_EXTRA": "https://host:8080/simple",
    "GIT_REMOTE": "git@host:group/name",
    "PYTHONPATH": "/a:/b@c",
}


@pytest.mark.parametrize("name", SECRETS)
def test_what_looks_like_a_secret_is_left_out(name: str) -> None:
    assert is_secret(name, SECRETS[name])


def test_what_compilers_and_libraries_need_stays() -> None:
    assert without_secrets({**NEEDED, **SECRETS}) == NEEDED


def test_what_the_user_names_is_passed_on() -> None:
    asked = {"KPROF_KEEP_ENV": "HF_TOKEN, SENTRY_DSN", "HF_TOKEN": "x", "SENTRY_DSN": "y", "DB_PASS": "z"}
    assert without_secrets(asked) == {name: asked[name] for name in ("KPROF_KEEP_ENV", "HF_TOKEN", "SENTRY_DSN")}


def test_kprof_can_be_imported_and_nothing_of_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    monkeypatch.setenv("SOME_TOKEN", "x")
    environment = base_environment()
    assert environment["PYTHONSAFEPATH"] == "1"
    assert environment["PYTHONPATH"].split(os.pathsep)[-1] == "/theirs"
    assert "SOME_TOKEN" not in environment


def test_caches_stay_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    made = scratch_environment(tmp_path)
    assert made["TMPDIR"] == str(tmp_path)
    assert not Path(made["TORCHINDUCTOR_CACHE_DIR"]).is_relative_to(tmp_path)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/own")
    assert scratch_environment(tmp_path) == {"TMPDIR": str(tmp_path)}
