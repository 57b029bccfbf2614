# Counting for ./test: every suite adds to one tally, and finish prints it as the last line.
passed=0 failed=0 skipped=0
failures=()
started=$SECONDS

section() { printf '\n== %s  (%ds)\n' "$1" $((SECONDS - started)); }

finish() {
  if [ ${#failures[@]} -gt 0 ]; then
    printf '\nfailed:\n'
    printf '  %s\n' "${failures[@]}"
  fi
  printf '\ntook %ds\n%d passed, %d failed, %d skipped\n' $((SECONDS - started)) "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
  exit $?
}

# build PRESET [TARGETS...]: a failed build counts as one failure and shows its end.
build() {
  local preset=$1 log=build/$1.log; shift
  if cmake --preset "$preset" >"$log" 2>&1 && ninja -k 20 -C "build/$preset" "$@" >>"$log" 2>&1; then return 0; fi
  grep -E 'error|FAILED' "$log" | head -40
  tail -20 "$log"
  failed=$((failed + 1)); failures+=("build $preset")
  return 1
}

# run_gtests PRESET: runs each test binary of the build, two at a time, and adds up its cases. Properties draw from one seed for
# each preset, so that a red run is about the change in hand; the nightly run draws a new one, and a failure prints it.
run_gtests() {
  local preset=$1 binary name results=build/$1/results seed limit=900
  seed=$(printf %s "$preset" | cksum | cut -d' ' -f1)
  # By night every bit of every journal is turned, and each act of each runbook spoiled: hours under a sanitizer.
  [ -z "${MUSTER_NIGHTLY:-}" ] || { seed=$(date +%s); limit=14400; }
  local -x RC_PARAMS=${RC_PARAMS:-seed=$seed}
  rm -rf "$results" && mkdir -p "$results"
  find "build/$preset" -name '*_test' -type f -perm -u+x | sort |
    xargs -P 2 -I{} sh -c 'name=$(basename {}); timeout '$limit' {} --gtest_brief=1 >"$0/$name.log" 2>&1; echo $? >"$0/$name.rc"' "$results"
  for binary in "$results"/*.rc; do
    name=$(basename "$binary" .rc)
    local log="$results/$name.log" rc ok bad skip
    rc=$(cat "$binary")
    ok=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
    bad=$(sed -n 's/^ *\([0-9]*\) FAILED TESTS\?$/\1/p' "$log" | tail -1)
    skip=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
    passed=$((passed + ${ok:-0})); skipped=$((skipped + ${skip:-0}))
    if [ "$rc" -ne 0 ]; then
      [ "${bad:-0}" -gt 0 ] || bad=1
      failed=$((failed + bad)); failures+=("$preset $name (exit $rc)")
      grep -E '^\[  FAILED|error|ERROR|Falsifiable|SUMMARY' "$log" | head -20
      tail -40 "$log"
    fi
  done
}

# run_script FILE: a script that prints "PASS name", "FAIL name: why" and "SKIP name: why" lines.
run_script() {
  local log; log=build/script.$$.log
  timeout 1500 bash "$1" >"$log" 2>&1
  count_script "$1" $? "$log"
}

# run_aside FILE: the same at the lowest priority beside what follows; join_asides waits for them and counts. Only for scripts that
# compute and hold no clock: they take the time in which the end-to-end scripts wait.
asides=()
run_aside() {
  local log; log=build/aside.${#asides[@]}.log
  (nice -n 19 timeout 3000 bash "$1" >"$log" 2>&1; echo $? >"$log.rc") &
  asides+=("$!:$1:$log")
}
join_asides() {
  local one script log
  for one in ${asides[@]+"${asides[@]}"}; do
    wait "${one%%:*}"
    log=${one##*:} script=${one#*:}; script=${script%%:*}
    section "aside: $script"
    count_script "$script" "$(cat "$log.rc" 2>/dev/null || echo 1)" "$log"
    rm -f "$log.rc"
  done
  asides=()
}

# count_script FILE RC LOG
count_script() {
  local rc=$2 log=$3 ok bad skip
  ok=$(grep -c '^PASS ' "$log"); bad=$(grep -c '^FAIL ' "$log"); skip=$(grep -c '^SKIP ' "$log")
  if [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ $((ok + bad + skip)) -eq 0 ]; then bad=1; echo "$1 ran no check"; fi
  passed=$((passed + ok)); failed=$((failed + bad)); skipped=$((skipped + skip))
  grep -E '^(FAIL|SKIP) ' "$log"
  if [ "$bad" -gt 0 ]; then failures+=("$1 (exit $rc)"); tail -60 "$log"; fi
  rm -f "$log"
}
