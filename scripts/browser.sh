#!/bin/sh
# Finds the browser that the page is tried in, or installs Debian's Chromium where that can be done without asking.
# Exit status 1: there is none; the tests that need it skip, and say so.
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
as_root=
[ "$(id -u)" -eq 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null 2>&1 &&
    timeout 300 $as_root apt-get update -qq &&
    timeout 600 $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; then
    exit 0
fi
echo "kprof: no Chromium here, and none could be installed: the tests of the page in a browser will skip" >&2
exit 1
