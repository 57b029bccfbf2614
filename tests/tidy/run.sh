#!/usr/bin/env bash
# The rules of the house, and that each of them finds its offence.
set -u
cd "$(dirname "$0")/../.."
python3 tests/tidy/tidy.py --self-test && python3 tests/tidy/tidy.py
