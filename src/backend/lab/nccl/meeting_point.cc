#include "backend/lab/nccl/meeting_point.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace muster::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMostBytes = 64u << 20;

struct Fd {
  int value = -1;
  Fd() = default;
  explicit Fd(int fd) : value(fd) {}
  Fd(Fd&& other) noexcept : value(std::exchange(other.value, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~Fd() {
    if (value >= 0) close(value);
  }
};

Error Trouble(std::string_view what) {
  return Error{Code::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)), {}, true};
}

Result<sockaddr_in> Address(const std::string& text, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const std::string numeric = text == "localhost" || text.empty() ? "127.0.0.1" : text;
  if (inet_pton(AF_INET, numeric.c_str(), &address.sin_addr) != 1) {
    return Fail(Code::kInvalid, fmt::format("MASTER_ADDR {} is not an IPv4 address", text));
  }
  return address;
}

// A message is an operation and two strings, each after its length.
std::string Frame(char operation, std::string_view key, std::string_view value) {
  std::string bytes(1, operation);
  for (std::string_view part : {key, value}) {
    const auto length = static_cast<uint32_t>(part.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += part;
  }
  return bytes;
}

struct Message {
  char operation = 0;
  std::string key, value;
};

enum class Took { kWhole, kPart, kBad };
// Takes the first whole message off the front of the bytes.
Took TakeMessage(std::string& bytes, Message& message) {
  if (bytes.empty()) return Took::kPart;
  size_t at = 1;
  std::string parts[2];
  for (std::string& part : parts) {
    uint32_t length = 0;
    if (bytes.size() < at + sizeof(length)) return Took::kPart;
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    if (length > kMostBytes) return Took::kBad;
    at += sizeof(length);
    if (bytes.size() < at + length) return Took::kPart;
    part.assign(bytes, at, length);
    at += length;
  }
  message = {bytes[0], std::move(parts[0]), std::move(parts[1])};
  bytes.erase(0, at);
  return Took::kWhole;
}

Status SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Fail(Trouble("sending to a rank"));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

class Server final : public MeetingServer {
 public:
  Server(Fd listener, Fd stop, int port)
      : listener_(std::move(listener)),
        stop_(std::move(stop)),
        port_(port),
        thread_([this] { Serve(); }) {}
  ~Server() override {
    const uint64_t one = 1;
    // A full counter cannot be: it is written once.
    [[maybe_unused]] const ssize_t wrote = write(stop_.value, &one, sizeof(one));
    thread_.join();
  }
  int port() const override { return port_; }

 private:
  struct Peer {
    Fd fd;
    std::string inbox;
    std::string waits_for;  // a key that is not there yet
    bool waiting = false, gone = false;
  };

  void Serve() {
    for (;;) {
      std::vector<pollfd> watched = {{stop_.value, POLLIN, 0}, {listener_.value, POLLIN, 0}};
      for (const Peer& peer : peers_) watched.push_back({peer.fd.value, POLLIN, 0});
      if (poll(watched.data(), watched.size(), -1) < 0) {
        if (errno == EINTR) continue;
        return;
      }
      if (watched[0].revents != 0) return;
      size_t i = 2;
      for (Peer& peer : peers_) {
        if (watched[i++].revents != 0) Receive(peer);
      }
      if (watched[1].revents != 0) {
        const int fd = accept4(listener_.value, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd >= 0) peers_.push_back(Peer{Fd(fd), {}, {}, false, false});
      }
      peers_.remove_if([](const Peer& peer) { return peer.gone; });
    }
  }

  void Receive(Peer& peer) {
    char bytes[65536];
    const ssize_t got = recv(peer.fd.value, bytes, sizeof(bytes), 0);
    if (got <= 0) {
      peer.gone = got == 0 || errno != EINTR;
      return;
    }
    peer.inbox.append(bytes, static_cast<size_t>(got));
    Message message;
    for (Took took = TakeMessage(peer.inbox, message); took != Took::kPart;
         took = TakeMessage(peer.inbox, message)) {
      if (took == Took::kBad) {
        peer.gone = true;
        return;
      }
      if (message.operation == 'S') {
        values_[message.key] = message.value;
        for (Peer& other : peers_) {
          if (other.waiting && other.waits_for == message.key) Answer(other, message.value);
        }
      } else {
        const auto at = values_.find(message.key);
        if (at != values_.end()) {
          Answer(peer, at->second);
        } else {
          peer.waiting = true;
          peer.waits_for = message.key;
        }
      }
    }
  }

  static void Answer(Peer& peer, const std::string& value) {
    peer.waiting = false;
    if (!SendAll(peer.fd.value, Frame('V', "", value))) peer.gone = true;
  }

  Fd listener_, stop_;
  int port_;
  std::map<std::string, std::string> values_;
  std::list<Peer> peers_;
  std::thread thread_;
};

class Client final : public MeetingClient {
 public:
  explicit Client(Fd fd) : fd_(std::move(fd)) {}

  Status Set(const std::string& key, const std::string& value) override {
    return SendAll(fd_.value, Frame('S', key, value));
  }

  Result<std::string> Get(const std::string& key, std::chrono::milliseconds timeout) override {
    TRY_VOID(SendAll(fd_.value, Frame('G', key, "")));
    const auto deadline = Clock::now() + timeout;
    Message message;
    for (;;) {
      const Took took = TakeMessage(inbox_, message);
      if (took == Took::kBad)
        return Fail(Code::kParse, "the meeting point does not speak our protocol");
      if (took == Took::kWhole) return std::move(message.value);
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd watched{fd_.value, POLLIN, 0};
      const int ready = left.count() <= 0 ? 0 : poll(&watched, 1, static_cast<int>(left.count()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0)
        return Fail(Code::kTimeout, fmt::format("waited {} ms for {}", timeout.count(), key));
      char bytes[65536];
      const ssize_t got = recv(fd_.value, bytes, sizeof(bytes), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        return Fail(Code::kUnavailable, fmt::format("rank 0 went away before {} was there", key));
      inbox_.append(bytes, static_cast<size_t>(got));
    }
  }

 private:
  Fd fd_;
  std::string inbox_;
};

}  // namespace

Result<std::unique_ptr<MeetingServer>> MeetingServer::Start(const std::string& address, int port) {
  TRY(sockaddr_in at, Address(address, port));
  Fd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (listener.value < 0 ||
      setsockopt(listener.value, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      bind(listener.value, reinterpret_cast<sockaddr*>(&at), sizeof(at)) != 0 ||
      listen(listener.value, 1024) != 0) {
    return Fail(Trouble(fmt::format("listening on {}:{}", address, port)).Context("rendezvous"));
  }
  socklen_t length = sizeof(at);
  if (getsockname(listener.value, reinterpret_cast<sockaddr*>(&at), &length) != 0)
    return Fail(Trouble("getsockname"));
  Fd stop(eventfd(0, EFD_CLOEXEC));
  if (stop.value < 0) return Fail(Trouble("eventfd"));
  return std::unique_ptr<MeetingServer>(
      std::make_unique<Server>(std::move(listener), std::move(stop), ntohs(at.sin_port)));
}

Result<std::unique_ptr<MeetingClient>> MeetingClient::Connect(const std::string& address, int port,
                                                              std::chrono::milliseconds timeout) {
  TRY(sockaddr_in at, Address(address, port));
  const auto deadline = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(2);
  for (;;) {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.value < 0) return Fail(Trouble("socket"));
    if (connect(fd.value, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0) {
      const int yes = 1;
      setsockopt(fd.value, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      return std::unique_ptr<MeetingClient>(std::make_unique<Client>(std::move(fd)));
    }
    if (Clock::now() + pause >= deadline) {
      return Fail(Code::kTimeout, fmt::format("rank 0 did not listen on {}:{} within {} ms",
                                              address, port, timeout.count()));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
}

}  // namespace muster::lab
