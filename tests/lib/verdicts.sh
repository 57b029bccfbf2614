# What the scripts share that look at a site, $work/site.yaml, and hold what Muster says of it to what it must say.

look() { timeout 300 "$muster" "$@" --site "$work/site.yaml" -o json >"$work/json" 2>"$work/err"; code=$?; }
waive() { # waive GATE...
  local g
  for g in "$@"; do "$muster" gate waive "$g" --by 'A. Person' --reason 'not this test' --until 1d --site "$work/site.yaml" >/dev/null 2>&1; done
}
judged() { # judged NAME WORDS OF verdicts.py
  if python3 "$top/tests/lib/verdicts.py" "$work/json" "${@:2}" >"$work/why" 2>&1; then pass "$1"; else fail "$1" "$(cat "$work/why" "$work/err" | tr '\n' ' ' | cut -c1-900)"; fi
}
gate() { judged "$1" gate "${@:2}"; }       # gate NAME NUMBER VERDICT [TEXT]: the gate's verdict, and TEXT somewhere in what is told of it
verdict() { judged "$1" verdict "${@:2}"; } # verdict NAME CODE SUBJECT VERDICT [TEXT]: of every subject, where SUBJECT is empty
rehearsed() { # rehearsed NAME: nothing of it was live
  if grep -q '"origin": "rehearsed"' "$work/json" && ! grep -q '"origin": "live"' "$work/json"; then pass "$1"; else fail "$1" "$(grep '"origin"' "$work/json" | sort | uniq -c | tr '\n' ' ')"; fi
}
judged_again() { # judged_again NAME: the run that was looked at last, by its stored readings
  local run; run=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run"])' "$work/json")
  if "$muster" verify "$run" --site "$work/site.yaml" >"$work/verify" 2>&1; then pass "$1"; else fail "$1" "$(tail -2 "$work/verify" | tr '\n' ';')"; fi
}
