// Tested by tools_test.cc, through the programs it is part of.
// sminfo and saquery of infiniband-diags 44.0, as they answered an OpenSM 3.3.23 with a standby
// beside it.
#include <algorithm>

#include <fmt/format.h>

#include "backend/lab/infiniband/fabric.h"
#include "base/strings.h"

namespace muster::lab::infiniband {

namespace {

bool HasAdapter(const ToolCall& call) {
  if (call.node == nullptr) return false;
  return std::any_of(call.node->nics.begin(), call.node->nics.end(), [&](const Nic& nic) {
    return HcaNow(call.state, *call.node, nic, call.now).present;
  });
}

int StateNumber(std::string_view state) {
  if (state == "SMINFO_MASTER") return 3;
  if (state == "SMINFO_STANDBY") return 2;
  return state == "SMINFO_DISCOVER" ? 1 : 0;
}

}  // namespace

CommandResult Sminfo(const ToolCall& call) {
  if (!HasAdapter(call)) return NoAdapter("sminfo");
  const Arguments args = ReadArguments(call.args, "-C --Ca -P --Port -t --timeout");
  const auto managers = SubnetManagersNow(call.state, call.now);
  int lid = managers.empty() ? 1 : managers.front().lid;
  if (!args.rest.empty()) lid = static_cast<int>(ParseInt(args.rest[0]).value_or(0));
  for (const SubnetManager& sm : managers) {
    if (sm.lid != lid) continue;
    const auto guid = ParseHex(sm.guid);
    return Printed(fmt::format(
        "sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {}\n", sm.lid,
        guid.ok() ? *guid : 0, sm.activity_count, sm.priority, StateNumber(sm.state), sm.state));
  }
  CommandResult result = Printed("sminfo: iberror: failed: query\n", 255);
  result.err = fmt::format("ibwarn: [4242] mad_rpc: _do_madrpc failed; dport (Lid {})\n", lid);
  return result;
}

CommandResult Saquery(const ToolCall& call) {
  if (!HasAdapter(call)) return NoAdapter("saquery");
  const auto managers = SubnetManagersNow(call.state, call.now);
  // The exit code is that of ETIMEDOUT.
  if (managers.empty()) return Complained("Query SA failed: Connection timed out\n", 110);
  const Arguments args = ReadArguments(call.args, "-C --Ca -P --Port -t --timeout");
  std::string out;
  if (args.Has("-s")) {
    out = "IsSM ports\n";
    for (const SubnetManager& sm : managers) {
      out += fmt::format(
          "PortInfoRecord dump:\n\t\tEndPortLid..............{0}\n\t\tPortNum.................1\n"
          "\t\tbase_lid................{0}\n\t\tmaster_sm_base_lid......{1}\n"
          "\t\tcapability_mask.........0x50C04A\n",
          sm.lid, managers.front().lid);
    }
    return Printed(out + "\nIsSMdisabled ports\n");
  }
  if (!args.rest.empty() && (args.rest[0] == "SMIR" || args.rest[0] == "SMInfoRecord")) {
    for (const SubnetManager& sm : managers) {
      out += fmt::format(
          "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................{}\n\t\tSMInfo dump:\n"
          "\t\tGUID..................0x{}\n\t\tSM_Key................0x0000000000000000\n"
          "\t\tActCount..............{}\n\t\tPriority..............{}\n\t\tSMState...............{}"
          "\n",
          sm.lid, sm.guid, sm.activity_count, sm.priority, StateNumber(sm.state));
    }
    return Printed(std::move(out));
  }
  return Complained("saquery: this lab answers -s and SMIR\n", 1);
}

}  // namespace muster::lab::infiniband
