#include "backend/lab/work/trainer/group.h"

#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/common/error.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr std::chrono::milliseconds kCollectiveTimeout = std::chrono::seconds(60);
constexpr size_t kMaxText = 4096;

// Gloo asks a store for what the others put there: under "rank_N" a host name, of which it makes a
// local rank for its own messages (nobody's is told here), and under "N" the addresses. Those are
// exchanged in one meeting, when ours are set.
class MeetingStore final : public gloo::rendezvous::Store {
 public:
  MeetingStore(const Meeting& meeting, Clock& clock) : meeting_(meeting), clock_(clock) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    if (IsHostName(key)) return;
    auto met = Meet(meeting_, std::string_view(data.data(), data.size()), clock_);
    if (!met.ok()) {
      error_ = std::move(met.error());
      GLOO_THROW("the ranks did not meet");
    }
    for (size_t rank = 0; rank < met->size(); ++rank)
      brought_[std::to_string(rank)] = {(*met)[rank].begin(), (*met)[rank].end()};
  }
  std::vector<char> get(const std::string& key) override {
    if (IsHostName(key)) return {'-'};
    const auto found = brought_.find(key);
    if (found == brought_.end()) GLOO_THROW("no rank ", key);
    return found->second;
  }
  void wait(const std::vector<std::string>&) override {}
  void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) override {}

  const std::optional<Error>& error() const { return error_; }

 private:
  static bool IsHostName(const std::string& key) { return StartsWith(key, "rank_"); }

  const Meeting meeting_;
  Clock& clock_;
  std::map<std::string, std::vector<char>> brought_;
  std::optional<Error> error_;
};

// Runs one collective; what Gloo throws becomes an Error.
template <typename Work>
Status Guard(std::string_view what, Work&& work) {
  try {
    work();
    return {};
  } catch (const std::exception& e) {
    const std::string text = e.what();
    const Code code = Contains(text, "Timed out") ? Code::kTimeout : Code::kUnavailable;
    return Fail(code, fmt::format("{}: another rank left or did not answer ({})", what,
                                  Shorten(text, 160)));
  }
}

class GlooGroup final : public Group {
 public:
  explicit GlooGroup(std::shared_ptr<gloo::Context> context) : context_(std::move(context)) {}

  Status Sum(std::span<float> values) override {
    return Guard("all-reduce", [&] {
      gloo::AllreduceOptions options(context_);
      // 2 log n messages a rank instead of a ring's 2(n - 1): ranks share cores here, and each
      // message is a change of process (32 ranks on two cores: 214 ms a step as a ring, 100 ms so).
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
      options.setOutput(values.data(), values.size());
      options.setReduceFunction(
          [](void* c, const void* a, const void* b, size_t n) { gloo::sum<float>(c, a, b, n); });
      gloo::allreduce(options);
    });
  }

  Result<std::vector<std::string>> Exchange(std::string_view said) override {
    if (said.size() > kMaxText) return Fail(Code::kInvalid, "a text of more than 4 KiB");
    std::vector<char> in(kMaxText + sizeof(uint32_t));
    const auto size = static_cast<uint32_t>(said.size());
    std::memcpy(in.data(), &size, sizeof(size));
    std::memcpy(in.data() + sizeof(size), said.data(), said.size());
    std::vector<char> out(in.size() * static_cast<size_t>(context_->size));
    TRY_VOID(Guard("all-gather", [&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(in.data(), in.size());
      options.setOutput(out.data(), out.size());
      gloo::allgather(options);
    }));
    std::vector<std::string> texts;
    for (size_t at = 0; at < out.size(); at += in.size()) {
      uint32_t length = 0;
      std::memcpy(&length, out.data() + at, sizeof(length));
      if (length > kMaxText) return Fail(Code::kCorrupt, "all-gather: a length out of range");
      texts.emplace_back(out.data() + at + sizeof(length), length);
    }
    return texts;
  }

  Status Barrier() override {
    return Guard("barrier", [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

 private:
  std::shared_ptr<gloo::Context> context_;
};

class Alone final : public Group {
 public:
  Status Sum(std::span<float>) override { return {}; }
  Result<std::vector<std::string>> Exchange(std::string_view said) override {
    return std::vector<std::string>{std::string(said)};
  }
  Status Barrier() override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Group>> JoinGroup(const Meeting& meeting, Clock& clock) {
  if (meeting.world == 1) return std::unique_ptr<Group>(std::make_unique<Alone>());
  MeetingStore store(meeting, clock);
  std::shared_ptr<gloo::rendezvous::Context> context;
  const Status connected = Guard("connecting the ranks", [&] {
    // A gang on one machine stays on loopback; otherwise Gloo takes the address that this host's
    // name resolves to.
    const bool local = StartsWith(meeting.address, "127.") || meeting.address == "localhost";
    auto device = gloo::transport::tcp::CreateDevice(local ? gloo::transport::tcp::attr("127.0.0.1")
                                                           : gloo::transport::tcp::attr());
    context = std::make_shared<gloo::rendezvous::Context>(meeting.rank, meeting.world);
    context->setTimeout(kCollectiveTimeout);
    context->connectFullMesh(store, device);
  });
  if (store.error()) return Fail(*store.error());
  if (!connected.ok()) return Fail(connected.error());
  return std::unique_ptr<Group>(std::make_unique<GlooGroup>(std::move(context)));
}

}  // namespace muster::lab
