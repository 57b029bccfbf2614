// Names of running pods behind headless Services, as a cluster's DNS gives them: an address appears
// a moment after the pod has it, and a name that was asked too early stays unknown for a while. The
// packets are read and written here; the socket is in dns_server.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::lab {

// What is known of a name at a moment.
struct DnsAnswer {
  bool exists = false;
  std::vector<uint32_t> addresses;  // IPv4, most significant byte first; may be none
};
using DnsLookup = std::function<DnsAnswer(const std::string& name)>;  // lower case, no last dot

// The reply to one packet; empty for what is no query at all (too short, a reply, a name that runs
// out): silence, as a server gives it. A question with a pointer or of several names is FORMERR,
// another opcode NOTIMP, an unknown name NXDOMAIN, another type than A of a known name an empty
// answer. At most 512 bytes: what does not fit is left out, and the truncation bit says so (RFC
// 1035, 4.1 and 4.2.1).
std::string AnswerDnsQuery(std::string_view packet, const DnsLookup& lookup);

// "10.64.0.7" as a number; 0 for anything else.
uint32_t ParseIpv4(std::string_view text);

struct DnsTimes {
  // From the address in the API to the record: EndpointSlice controller, watch, CoreDNS's own
  // store.
  Duration publication = std::chrono::milliseconds(500);
  // CoreDNS answers a name that it has denied from its cache this long (the SOA's 5 s).
  Duration denial = std::chrono::seconds(5);
};

// The records of one cluster. Safe for a writer and a reader in different threads. Times are those
// of a monotonic clock, given by the caller.
class DnsZone {
 public:
  explicit DnsZone(DnsTimes times = {}) : times_(times) {}
  // `name` in full: "ddp-0.ddp.default.svc.cluster.local". The same again changes nothing.
  void Add(const std::string& name, uint32_t address, Duration now);
  void Remove(const std::string& name, uint32_t address);
  DnsAnswer Find(const std::string& name, Duration now);
  // When the name's first address is or was published; nothing for a name that is not there.
  std::optional<Duration> PublishedAt(const std::string& name) const;
  size_t size() const;

 private:
  const DnsTimes times_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<uint32_t, Duration>> records_;  // address -> published at
  std::map<std::string, Duration> denied_;                       // until
};

// Both names under which a pod of a headless Service is known: its own and the Service's.
std::vector<std::string> PodNames(std::string_view hostname, std::string_view service,
                                  std::string_view ns);

}  // namespace muster::lab
