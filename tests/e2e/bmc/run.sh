#!/bin/bash
# The BMC clients against emulators that others wrote: sushy-tools' Redfish emulator (PyPI) and openipmi's ipmi_sim with ipmitool (Debian).
# Usage: run.sh [BUILD_FOLDER]. PASS, FAIL and SKIP lines; the last line counts. All of it runs in a network namespace with nothing but a
# loopback, where that may be made. A part whose emulator is missing is skipped; with CI=true that is a failure.
# sushy-emulator is had as tests/lib/sushy.sh says.
. "$(dirname "$0")/../../lib/checks.sh"
. "$top/tests/lib/sushy.sh"
driver=$build/src/backend/bmc/muster_bmc_e2e
need_program "$driver"
have_sushy
alone
work=$(mktemp -d "${TMPDIR:-/tmp}/muster-bmc.XXXXXX")
stop() { end_pids; rm -rf "$work"; }
trap stop EXIT
facts() { timeout 120 "$driver" "$@" >"$work/facts" 2>&1; cat "$work/facts" >>"$work/all"; }
check() { if grep -Eq "$2" "$work/facts"; then pass "$1"; else fail "$1" "no line matches '$2': $(tr '\n' ';' <"$work/facts" | cut -c1-400)"; fi; }
until_power() { # until_power STATE ARGS...: looks again, at most 60 times
  local want=$1 n; shift
  for n in $(seq 60); do facts "$@" look; grep -q "^power $want$" "$work/facts" && return; sleep 0.5; done
}

# ---- Redfish
if ! have_sushy; then
  lacking redfish "$MUSTER_NO_SUSHY"
else
  cat >"$work/emu.conf" <<C
SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = 18009
SUSHY_EMULATOR_STATE_DIR = '$work'
SUSHY_EMULATOR_FAKE_SYSTEMS = [
  {'uuid': 'aaaaaaaa-0000-0000-0000-000000000001', 'name': 'node1', 'power_state': 'On', 'external_notifier': False, 'nics': []},
  {'uuid': 'aaaaaaaa-0000-0000-0000-000000000002', 'name': 'node2', 'power_state': 'Off', 'external_notifier': False, 'nics': []}]
C
  "$sushy" --config "$work/emu.conf" --fake >"$work/sushy.log" 2>&1 </dev/null & pids+=($!)
  url=http://127.0.0.1:18009
  for n in $(seq 120); do curl -s -o /dev/null --noproxy '*' $url/redfish/v1 && break; sleep 0.5; done
  export BMC_PASSWORD=not-on-a-command-line
  one=(redfish $url admin env:BMC_PASSWORD node1)
  two=(redfish $url admin env:BMC_PASSWORD node2)
  facts "${one[@]}" look; check redfish_power_is_read_by_name '^power on$'
  facts "${two[@]}" look; check redfish_two_systems_are_told_apart '^power off$'
  facts redfish $url admin env:BMC_PASSWORD "" look; check redfish_an_unnamed_one_of_two_is_refused '^error .* has 2 systems'
  facts redfish $url admin env:BMC_PASSWORD nobody look; check redfish_an_unknown_system_is_named '^error .*has no system nobody'
  facts "${one[@]}" off; check redfish_a_power_act_is_accepted '^did accepted'
  until_power off "${one[@]}"; check redfish_power_goes_off '^power off$'
  facts "${one[@]}" on; until_power on "${one[@]}"; check redfish_power_comes_back '^power on$'
  facts "${one[@]}" sensors; check redfish_temperatures_are_read '^sensor .* Cel'
  facts "${one[@]}" events; check redfish_no_event_log_is_said '^error .*no event log'
  facts redfish http://127.0.0.1:1 admin env:BMC_PASSWORD "" look; check redfish_nobody_there_is_an_error '^error '
  facts redfish $url admin env:NOT_SET node1 look
  check redfish_a_missing_password_is_named 'NOT_SET'

  # The same over TLS, with a certificate that nobody signed.
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -subj /CN=localhost -addext 'subjectAltName=DNS:localhost' \
    -days 2 2>/dev/null
  sed "s/18009/18010/" "$work/emu.conf" >"$work/tls.conf"
  printf "SUSHY_EMULATOR_SSL_CERT = '%s'\nSUSHY_EMULATOR_SSL_KEY = '%s'\n" "$work/cert.pem" "$work/key.pem" >>"$work/tls.conf"
  "$sushy" --config "$work/tls.conf" --fake >"$work/sushy.tls.log" 2>&1 </dev/null & pids+=($!)
  for n in $(seq 120); do curl -sk -o /dev/null --noproxy '*' https://localhost:18010/redfish/v1 && break; sleep 0.5; done
  tls=(redfish https://localhost:18010 admin env:BMC_PASSWORD node1)
  facts "${tls[@]}" look; check redfish_an_unknown_certificate_is_refused '^error .*certificate'
  MUSTER_CA_FILE=$work/cert.pem facts "${tls[@]}" look; check redfish_a_named_authority_is_believed '^power '
  MUSTER_UNVERIFIED_BECAUSE="the vendor's own certificate" facts "${tls[@]}" look; check redfish_a_stated_exception_is_believed '^power '
  grep -rq not-on-a-command-line "$work" && fail redfish_no_password_is_printed "it stands in $work" || pass redfish_no_password_is_printed
fi

# ---- IPMI
if ! command -v ipmi_sim >/dev/null || ! command -v ipmitool >/dev/null; then
  lacking ipmi "ipmi_sim or ipmitool is missing: Debian packages openipmi, ipmitool"
  finish
fi
cat >"$work/chassis.sh" <<'C'
#!/bin/sh
# ipmi_sim calls it with: MC get|set power [VALUE]
while [ $# -gt 0 ]; do
  case "$1" in
    get) echo "power:$(cat "$STATE/power")"; exit 0;;
    set) shift; while [ $# -gt 0 ]; do case "$1" in power) echo "$2" >"$STATE/power"; shift;; esac; shift; done; exit 0;;
  esac
  shift
done
C
sed -i "s#\$STATE#$work#g" "$work/chassis.sh"; chmod +x "$work/chassis.sh"; echo 1 >"$work/power"
. "$top/tests/lib/ipmi_sim.sh"
start_ipmi_sim "$work" "$work/chassis.sh"; pids+=("$ipmi_pid")
export IPMI_SECRET=sim-secret
bmc=(ipmi 127.0.0.1 9623 3 ADMIN env:IPMI_SECRET)
facts "${bmc[@]}" look; check ipmi_power_is_read '^power on$'
facts "${bmc[@]}" off; check ipmi_a_power_act_is_accepted '^did accepted'
until_power off "${bmc[@]}"; check ipmi_power_goes_off '^power off$'
facts "${bmc[@]}" on; until_power on "${bmc[@]}"; check ipmi_power_comes_back '^power on$'
facts "${bmc[@]}" events; check ipmi_the_event_log_is_read '^events [0-9]+$'
IPMI_SECRET=wrong facts "${bmc[@]}" look; check ipmi_a_wrong_password_is_an_error '^error '
IPMI_SECRET=wrong facts "${bmc[@]}" off; check ipmi_a_wrong_password_changes_nothing '^did refused'
facts ipmi 127.0.0.1 9 3 ADMIN env:IPMI_SECRET look; check ipmi_nobody_there_is_an_error '^error '
grep -q sim-secret "$work/all" && fail ipmi_no_password_is_printed "$(grep -m 1 sim-secret "$work/all")" || pass ipmi_no_password_is_printed
finish
