#!/usr/bin/env bash
# Every C++ file is as clang-format wants it.
set -u
cd "$(dirname "$0")/../.."
command -v clang-format-19 >/dev/null || { [ "${CI:-}" = true ] && echo "FAIL format: clang-format-19 is missing" || echo "SKIP format: clang-format-19 is missing"; exit 0; }
bad=$(git ls-files '*.cc' '*.h' | xargs clang-format-19 --dry-run -Werror 2>&1 | grep -E 'error:' | cut -d: -f1 | sort -u)
if [ -z "$bad" ]; then echo "PASS format"; else echo "$bad"; echo "FAIL format: the files above differ from clang-format-19 -i"; fi
