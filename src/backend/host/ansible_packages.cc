#include "backend/host/ansible_packages.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/host/act_details.h"
#include "base/strings.h"

namespace muster::host {

using namespace detail;

namespace {

// Its own playbook comes on standard input; no file of it is left behind.
constexpr const char* kOnInput = "/dev/stdin";

std::string Variables(const std::vector<std::string>& pins) {
  nlohmann::json packages = nlohmann::json::array();
  for (const std::string& pin : pins)
    packages.push_back({{"name", NameOf(pin)}, {"version", pin.substr(NameOf(pin).size() + 1)}});
  return nlohmann::json{{"muster_packages", packages}}.dump();
}

}  // namespace

std::vector<std::string> ListedHosts(std::string_view printed) {
  std::vector<std::string> hosts;
  bool listing = false;
  for (const std::string_view line : Lines(printed)) {
    if (Contains(line, "    hosts (")) {
      listing = true;
    } else if (!StartsWith(line, "      ")) {
      listing = false;
    } else if (listing) {
      const std::string host(Trim(line));
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
    }
  }
  return hosts;
}

// In the site's folder, so that its ansible.cfg counts; Ansible starts in no locale but UTF-8.
Words AnsiblePackages::Environment() const {
  return {"env", "-C", options_.folder.empty() ? "." : options_.folder, "ANSIBLE_NOCOLOR=1",
          "LC_ALL=C.UTF-8"};
}

Words AnsiblePackages::Playbook(const std::string& node, Words more) const {
  Words words = Environment();
  words.insert(words.end(), {"ansible-playbook", "-i", options_.target.inventory, "--limit", node});
  if (options_.sudo) words.emplace_back("--become");
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(options_.target.playbook.empty() ? kOnInput : options_.target.playbook);
  return words;
}

HostCommands AnsiblePackages::CommandsFor(const Action& action,
                                          const std::vector<std::string>& pins) const {
  HostCommands run;
  const std::string node(action.on.Host());
  if (options_.target.playbook.empty()) run.input = options_.own_playbook;
  if (!pins.empty()) run.commands.push_back(Playbook(node, {"-e", Variables(pins)}));
  if (Param(action, "reboot") == "true") {
    // In the background there: a host that goes down answers no more.
    Words reboot = Environment();
    reboot.insert(reboot.end(), {"ansible", node, "-i", options_.target.inventory});
    if (options_.sudo) reboot.emplace_back("--become");
    for (const char* word :
         {"-m", "ansible.builtin.command", "-a", "systemctl reboot", "-B", "60", "-P", "0"})
      reboot.emplace_back(word);
    run.commands.push_back(std::move(reboot));
  }
  return run;
}

ActPlace AnsiblePackages::PlaceOf(const std::string& node) const {
  return {here_, "the record of what Ansible did to " + node, false,
          options_.state_folder + "/" + node};
}

std::vector<std::string> AnsiblePackages::Render(const Action& action,
                                                 const std::vector<std::string>& pins) const {
  std::vector<std::string> lines;
  for (const Words& words : CommandsFor(action, pins).commands)
    lines.push_back("here: " + Join(words, " "));
  if (options_.target.playbook.empty() && !pins.empty())
    lines.push_back("here: (the playbook is Muster's own, catalogue/ansible/pin_packages.yaml)");
  return lines;
}

Status AnsiblePackages::Ready(const std::string& node) {
  // A name is a pattern to Ansible: "all", "a:b" and "gpu*" mean more than one host.
  if (!IsWord(node, "._-"))
    return Fail(Code::kInvalid,
                fmt::format("{} is no name that Ansible takes for one host", Printable(node)));
  Command command{Playbook(node, {"--list-hosts"})};
  if (options_.target.playbook.empty()) command.stdin_text = options_.own_playbook;
  command.timeout = kShortWait;
  const auto ran = here_.Run(command);
  if (!ran.ok()) return Fail(Code::kUnavailable, "ansible-playbook: " + ran.error().ToString());
  if (ran->timed_out || ran->truncated)
    return Fail(Code::kUnavailable, "ansible-playbook does not list its hosts in time");
  if (ran->exit_code != 0)
    return Fail(Code::kUnavailable, fmt::format("ansible-playbook does not reach {} (exit {}): {}",
                                                node, ran->exit_code, TailOf(*ran)));
  const auto hosts = ListedHosts(ran->out);
  if (hosts != std::vector<std::string>{node})
    return Fail(Code::kUnavailable,
                fmt::format("the inventory means {} by {}: expected that one host",
                            hosts.empty() ? "nobody" : Shorten(Join(hosts, ", "), 120), node));
  return {};
}

DidResult AnsiblePackages::Do(const Order& order, const std::vector<std::string>& pins,
                              int wait_s) {
  const std::string node(order.action.on.Host());
  if (const Status ready = Ready(node); !ready.has_value())
    return {Did::kRefused, ready.error().message};
  ActPlace place = PlaceOf(node);
  for (int n = 1;; ++n) {
    const auto stored = place.ReadStored();
    if (!stored.ok()) return {Did::kRefused, stored.error().ToString()};
    if (const std::string older = OlderFence(order, *stored); !older.empty())
      return {Did::kRefused, older};
    const DidResult did = place.Do(order, *stored, CommandsFor(order.action, pins), wait_s);
    if (did.did != Did::kRefused || did.detail != kHoldMoved || n == kMostHoldTries) return did;
  }
}

Result<ActRecord> AnsiblePackages::ReadRecord(const Order& order) {
  return PlaceOf(std::string(order.action.on.Host())).ReadRecord(order.token);
}

}  // namespace muster::host
