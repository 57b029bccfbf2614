# A management controller played by openipmi's ipmi_sim, for scripts that source this file.
# start_ipmi_sim FOLDER CHASSIS: listens at 127.0.0.1:9623 (ADMIN, sim-secret, cipher suite 3); the power of its chassis is what the
# program CHASSIS says and does: it is called with "MC get power" and "MC set power|reset [VALUE]". Its pid is in ipmi_pid; it has
# FOLDER for its files.
start_ipmi_sim() {
  local folder=$1 n
  mkdir -p "$folder/sim"
  cat >"$folder/lan.conf" <<C
name "bmc1"
set_working_mc 0x20
startlan 1
addr 127.0.0.1 9623
priv_limit admin
allowed_auths_callback none md2 md5 straight
allowed_auths_user none md2 md5 straight
allowed_auths_operator none md2 md5 straight
allowed_auths_admin none md2 md5 straight
guid a123456789abcdefa123456789abcdef
endlan
chassis_control "$2"
startnow false
user 1 true "" "test" user 10 none md2 md5 straight
user 2 true "ADMIN" "sim-secret" admin 10 none md2 md5 straight
C
  printf '%s\n' 'mc_setbmc 0x20' 'mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr' 'sel_enable 0x20 1000 0x0a' \
    'sensor_add 0x20 0 1 1 1' 'mc_enable 0x20' >"$folder/bmc.emu"
  # It ends when its input does, so it is given one that stays open as long as the script.
  mkfifo "$folder/hold"; exec 8<>"$folder/hold"
  ipmi_sim -c "$folder/lan.conf" -f "$folder/bmc.emu" -s "$folder/sim" -d -n >"$folder/sim.log" 2>&1 <&8 &
  ipmi_pid=$!
  for n in $(seq 120); do ss -Hulpn | grep -q 9623 && return; sleep 0.25; done
  return 1
}
