#include "backend/lab/nccl/exchange.h"

#include <map>

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include "backend/lab/nccl/meeting_point.h"

namespace muster::lab {
namespace {

// What Gloo expects of a store; it reports trouble by throwing.
class GlooStore final : public gloo::rendezvous::Store {
 public:
  GlooStore(MeetingClient& client, std::chrono::milliseconds timeout)
      : client_(client), timeout_(timeout) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    const auto done = client_.Set("gloo/" + key, std::string(data.begin(), data.end()));
    if (!done) throw std::runtime_error(done.error().message);
  }
  std::vector<char> get(const std::string& key) override {
    wait({key}, timeout_);
    const std::string value = std::move(seen_[key]);
    seen_.erase(key);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) {
      if (seen_.contains(key)) continue;
      auto value = client_.Get("gloo/" + key, timeout);
      if (!value) throw std::runtime_error(value.error().message);
      seen_[key] = *std::move(value);
    }
  }

 private:
  MeetingClient& client_;
  std::chrono::milliseconds timeout_;
  std::map<std::string, std::string> seen_;
};

class GlooExchange final : public Exchange {
 public:
  explicit GlooExchange(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  Status Join(const ExchangeSpec& spec) {
    if (spec.rank == 0) {
      TRY(server_, MeetingServer::Start(spec.master_addr, spec.master_port));
    }
    const int port = spec.rank == 0 ? server_->port() : spec.master_port;
    TRY(client_, MeetingClient::Connect(spec.master_addr, port, spec.timeout));
    TRY_VOID(client_->Set(NoteKey(spec.rank), spec.note));
    // Every rank sees every other before any connection is made, so that a missing one is named and
    // not merely felt.
    const auto deadline = std::chrono::steady_clock::now() + spec.timeout;
    for (int rank = 0; rank < spec.world; ++rank) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      auto note = client_->Get(NoteKey(rank), std::max(left, std::chrono::milliseconds(1)));
      if (!note) {
        return Fail(note.error().code,
                    fmt::format("rank {} of {} did not come to the rendezvous within {} ms", rank,
                                spec.world, spec.timeout.count()));
      }
      notes_.push_back(*std::move(note));
    }
    return Connect(spec);
  }

  Status Sum(std::span<float> values) override { return SumOf(values); }
  Status Sum(std::span<int64_t> values) override { return SumOf(values); }

  Status Barrier() override {
    return Guarded([this] {
      gloo::BarrierOptions options(context_);
      options.setTag(++tag_);
      options.setTimeout(timeout_);
      gloo::barrier(options);
    });
  }

  const std::vector<std::string>& Notes() const override { return notes_; }

 private:
  static std::string NoteKey(int rank) { return fmt::format("note/{}", rank); }

  Status Connect(const ExchangeSpec& spec) {
    return Guarded([&] {
      gloo::transport::tcp::attr attr;
      attr.hostname = "127.0.0.1";
      auto device = gloo::transport::tcp::CreateDevice(attr);
      auto context = std::make_shared<gloo::rendezvous::Context>(spec.rank, spec.world);
      context->setTimeout(spec.timeout);
      GlooStore store(*client_, spec.timeout);
      context->connectFullMesh(store, device);
      context_ = std::move(context);
    });
  }

  template <typename T>
  Status SumOf(std::span<T> values) {
    return Guarded([&] {
      gloo::AllreduceOptions options(context_);
      options.setOutput(values.data(), values.size());
      options.setReduceFunction(
          [](void* out, const void* a, const void* b, size_t n) { gloo::sum<T>(out, a, b, n); });
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setTag(++tag_);
      options.setTimeout(timeout_);
      gloo::allreduce(options);
    });
  }

  // Gloo throws: IoException for time-outs and lost peers, others for misuse.
  template <typename F>
  static Status Guarded(F&& work) {
    try {
      work();
      return {};
    } catch (const gloo::IoException& error) {
      const std::string text = error.what();
      const bool late = text.find("imed out") != std::string::npos;
      return Fail(late ? Code::kTimeout : Code::kUnavailable, text);
    } catch (const std::exception& error) {
      return Fail(Code::kUnavailable, error.what());
    }
  }

  const std::chrono::milliseconds timeout_;
  std::unique_ptr<MeetingServer> server_;
  std::unique_ptr<MeetingClient> client_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<std::string> notes_;
  uint32_t tag_ = 0;
};

}  // namespace

Result<std::unique_ptr<Exchange>> JoinExchange(const ExchangeSpec& spec) {
  if (spec.world < 1 || spec.rank < 0 || spec.rank >= spec.world) {
    return Fail(Code::kInvalid, fmt::format("rank {} of {} makes no sense", spec.rank, spec.world));
  }
  auto exchange = std::make_unique<GlooExchange>(spec.timeout);
  TRY_VOID(exchange->Join(spec));
  return std::unique_ptr<Exchange>(std::move(exchange));
}

}  // namespace muster::lab
