// An API server in memory behind the Transport port: it keeps objects, counts resourceVersions,
// lists in pages, watches, forgets its past on demand, and breaks in every way that a test asks
// for. Time is a FakeClock: waiting for nothing moves it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/resource.h"
#include "kube/transport.h"
#include "world/random.h"
#include "world/testing/fake_clock.h"

namespace muster::kube::testing {

// What a test does to one exchange in place of the right answer.
struct Fault {
  enum class Kind {
    kNone,
    kRefuse,   // status and body below
    kBreak,    // the connection ends after `bytes` bytes of the body
    kSilence,  // nothing ever comes
  };
  Kind kind = Kind::kNone;
  int status = 0;
  std::string body = {};
  std::map<std::string, std::string> headers = {};
  size_t bytes = 0;
};

class FakeApi final : public Transport {
 public:
  FakeApi(muster::testing::FakeClock& clock, uint64_t seed);
  ~FakeApi() override;

  // ---- what the client sees
  uint64_t Start(Exchange exchange, ExchangeEvents events) override;
  void Cancel(uint64_t id) override;
  // Lets one exchange, chosen by the seed, take one step; without any, time goes on.
  void Poll(Duration timeout) override;
  void UseTls(const TlsIdentity& tls) override { tls_ = tls; }

  // ---- what a test does as somebody else
  // Creates or replaces, and returns the new resourceVersion. `fields` are JSON members beside
  // metadata: "\"spec\":{...}".
  uint64_t Put(const Resource& resource, const std::string& ns, const std::string& name,
               const std::string& fields = {});
  bool Remove(const Resource& resource, const std::string& ns, const std::string& name);
  void Compact();                          // older places cannot be watched or continued any more
  void Bookmark();                         // to every watch
  void BreakWatches();                     // every connection ends in the middle
  void EndWatches();                       // in good order, as after timeoutSeconds
  void SendTwice();                        // every watch gets its last event again
  void SendRaw(const std::string& bytes);  // every watch gets exactly these bytes
  // Asked before each exchange is answered.
  std::function<Fault(const Exchange&)> fault;
  bool serves_watch_list = true;
  int bytes_per_step = 0;  // 0: an answer comes at once; otherwise in pieces

  uint64_t version() const;
  size_t watches() const;
  const std::vector<std::string>& asked() const;  // "GET /api/v1/pods?..."
  std::string Token(size_t request) const;        // the Authorization header of a request
  const TlsIdentity& tls() const { return tls_; }
  // key -> resourceVersion of what is there now.
  std::map<std::string, uint64_t> Contents(const Resource& resource) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  muster::testing::FakeClock& clock_;
  TlsIdentity tls_;
};

}  // namespace muster::kube::testing
