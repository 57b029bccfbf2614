#include "probes/infiniband/collect.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "probes/infiniband/ibnetdiscover.h"
#include "probes/infiniband/perfquery.h"
#include "probes/infiniband/sminfo.h"
#include "probes/infiniband/text.h"

namespace muster::infiniband {

namespace {

// A client of a fabric that went away can hang for ever (reference: real parts, pitfalls).
constexpr Duration kQueryTimeout = std::chrono::seconds(20);

class Transcript {
 public:
  Transcript(const HostPorts& ports, std::string_view probe) : ports_(ports), probe_(probe) {}

  // Runs a command and adds it. The answer is nothing where the command gave no usable text.
  std::optional<std::string> Run(std::vector<std::string> argv) {
    Command command;
    command.argv = std::move(argv);
    command.timeout = kQueryTimeout;
    Reading one = ReadCommand(ports_, probe_, command);
    const std::string line = fmt::format("{}", fmt::join(command.argv, " "));
    if (first_) {
      whole_ = one;
      whole_.text.clear();
      first_ = false;
    } else {
      whole_.at = one.at;
      whole_.took += one.took;
    }
    if (one.fault) {
      whole_.text += RenderBlock(line, one.fault->detail.empty() ? "" : one.fault->detail + "\n",
                                 one.exit_code == 0 ? 1 : one.exit_code);
      return std::nullopt;
    }
    std::string text = one.text;
    // Some versions complain on stderr, some on stdout.
    if (one.exit_code != 0 && (text.empty() || text.back() == '\n')) text += one.stderr_text;
    whole_.text += RenderBlock(line, text, one.exit_code);
    return text;
  }
  Reading Finish(std::string_view command) {
    whole_.command = std::string(command);
    whole_.stderr_text.clear();
    return std::move(whole_);
  }

 private:
  const HostPorts& ports_;
  std::string_view probe_;
  Reading whole_;
  bool first_ = true;
};

// {1,2,3} -> "1-3", {1,2,7} -> "1,2,7". Never both at once: perfquery 44 takes "1-2,7" for ports 1
// and 7, without a word.
std::string PortsArgument(const std::set<int>& ports) {
  const bool in_a_row = *ports.rbegin() - *ports.begin() + 1 == static_cast<int>(ports.size());
  if (in_a_row && ports.size() > 1) {
    return fmt::format("{}-{}", *ports.begin(), *ports.rbegin());
  }
  return fmt::format("{}", fmt::join(ports, ","));
}

bool HasSaturated(const CounterSet& set) {
  for (const CounterName& name : CounterTable()) {
    const auto& value = set.value[static_cast<size_t>(name.counter)];
    if (value && *value == static_cast<int64_t>(name.bits)) return true;
  }
  return false;
}

}  // namespace

Reading CollectSminfo(const HostPorts& ports) {
  Transcript transcript(ports, "infiniband.sminfo");
  const auto ours = transcript.Run({"sminfo"});
  const auto sm = ours ? ParseSminfo(*ours) : std::nullopt;
  if (sm) {
    const auto capable = transcript.Run({"saquery", "-s"});
    const auto lids = capable ? ParseIsSmPorts(*capable) : std::nullopt;
    if (lids) {
      for (const int lid : *lids) {
        if (lid != sm->lid) transcript.Run({"sminfo", fmt::format("{}", lid)});
      }
    }
  }
  return transcript.Finish("sminfo; saquery -s; sminfo LID");
}

Reading CollectPerfquery(const HostPorts& ports) {
  Transcript transcript(ports, "infiniband.perfquery");
  const auto list = transcript.Run({"ibnetdiscover", "-p"});
  std::map<int, std::set<int>> switches;
  std::map<int, int> adapters;
  if (list) {
    for (const DiscoveredPort& port : ParseIbnetdiscoverPorts(*list).ports) {
      if (port.lid == 0) continue;  // before a subnet manager came there is no address to ask
      if (port.is_switch) {
        switches[port.lid].insert(port.port);
      } else {
        adapters.emplace(port.lid, port.port);
      }
    }
  }
  std::vector<std::pair<int, int>> again;
  const auto ask = [&](std::vector<std::string> argv) {
    const auto text = transcript.Run(std::move(argv));
    if (!text) return;
    for (const PortCountersRecord& record : ParsePerfquery(*text)) {
      if (HasSaturated(record.counters)) again.emplace_back(record.lid, record.port);
    }
  };
  for (const auto& [lid, numbers] : switches) {
    ask({"perfquery", "-l", fmt::format("{}", lid), PortsArgument(numbers)});
  }
  for (const auto& [lid, port] : adapters) {
    ask({"perfquery", fmt::format("{}", lid), fmt::format("{}", port)});
  }
  for (const auto& [lid, port] : again) {
    transcript.Run({"perfquery", "-x", fmt::format("{}", lid), fmt::format("{}", port)});
  }
  return transcript.Finish("ibnetdiscover -p; perfquery -l LID PORTS; perfquery LID PORT");
}

}  // namespace muster::infiniband
