#!/usr/bin/env bash
# Installs the official verifiers into .cache, once per list of versions, and prints their folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# A mirror that is slow is given this long; one that is down is not waited for.
readonly limit_s=300

lists=(tools/verifiers/requirements.txt tools/verifiers/package.json tools/verifiers/package-lock.json tools/verifiers/go/go.mod tools/verifiers/go/go.sum)
programs=(tools/verifiers/verify.py tools/verifiers/verify.mjs tools/verifiers/go/main.go)
folder=.cache/verifiers-$(cat "${lists[@]}" "${programs[@]}" | sha256sum | cut -c1-12)
if [ ! -e "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  timeout "$limit_s" python3 -m venv "$folder/python" >&2
  timeout "$limit_s" "$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-deps -r tools/verifiers/requirements.txt >&2
  cp tools/verifiers/package.json tools/verifiers/package-lock.json tools/verifiers/verify.mjs "$folder"
  (cd "$folder" && timeout "$limit_s" npm ci --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error >&2)
  root=$PWD
  (cd tools/verifiers/go && timeout "$limit_s" go build -o "$root/$folder/verify-go" .) >&2
  touch "$folder/ready"
fi
echo "$PWD/$folder"
