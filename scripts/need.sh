#!/bin/sh
# Says what a set-up needs and this machine lacks, all of it at once, before anything is installed.
python=${PYTHON:-python3}
missing=0

lacks() {
    echo "kprof set-up: missing $1: $2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    lacks "$python" "install Python 3.10 or newer (Debian: apt-get install python3)"
else
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        lacks "Python 3.10" "found $("$python" --version 2>&1); name a newer one with make PYTHON=python3.11"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        lacks "Python's venv module" "Debian: apt-get install python3-venv"
    "$python" -c 'import pip' 2>/dev/null || "$python" -c 'import ensurepip' 2>/dev/null ||
        lacks "pip" "Debian: apt-get install python3-pip"
    header=$("$python" -c 'import os, sysconfig; print(os.path.join(sysconfig.get_paths()["include"], "Python.h"))')
    [ -f "$header" ] || lacks "Python's headers" "no $header; Debian: apt-get install python3-dev"
fi
command -v "${CXX:-c++}" >/dev/null 2>&1 ||
    lacks "a C++ compiler" "no ${CXX:-c++} on PATH; Debian: apt-get install g++, or set CXX"

exit $missing
