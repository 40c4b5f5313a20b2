#!/usr/bin/env bash
# Installs the fuzzer into .cache, once per list of versions, and prints the path of its command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# A mirror that is slow is given this long; one that is down is not waited for.
readonly limit_s=300

list=tools/fuzz/requirements.txt
folder=.cache/fuzz-$(sha256sum "$list" | cut -c1-12)
if [ ! -e "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p .cache
  timeout "$limit_s" python3 -m venv "$folder" >&2
  timeout "$limit_s" "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$list" >&2
  touch "$folder/ready"
fi
echo "$PWD/$folder/bin/st"
