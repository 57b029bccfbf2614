#include "backend/lab/work/trainer/rendezvous.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace muster::lab {
namespace {

constexpr uint32_t kMagic = 0x4d535452;      // "MSTR": another program on the port is told apart
constexpr uint32_t kMaxMessage = 64u << 20;  // of the answer with every rank's bytes
constexpr Duration kGrace =
    std::chrono::seconds(3);  // rank 0 gives up first, and says who is missing

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Error SystemError(std::string_view what) {
  return Error{Code::kUnavailable, fmt::format("{}: {}", what, std::strerror(errno)), {}};
}

// Waits until the socket can be read (or written); false at the deadline.
bool Ready(int fd, short events, Duration deadline, Clock& clock) {
  for (;;) {
    const Duration left = deadline - clock.Monotonic();
    if (left <= Duration::zero()) return false;
    pollfd wanted{fd, events, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int n = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(ms, 1000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;  // the next call on the socket says what is wrong
  }
}

Status SendAll(int fd, std::string_view bytes, Duration deadline, Clock& clock) {
  while (!bytes.empty()) {
    if (!Ready(fd, POLLOUT, deadline, clock)) return Fail(Code::kTimeout, "sending took too long");
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return Fail(SystemError("send"));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<std::string> ReceiveExactly(int fd, size_t size, Duration deadline, Clock& clock) {
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < size) {
    if (!Ready(fd, POLLIN, deadline, clock)) return Fail(Code::kTimeout, "no answer in time");
    const ssize_t n = recv(fd, bytes.data() + have, size - have, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n == 0) return Fail(Code::kUnavailable, "the connection was closed");
    if (n < 0) return Fail(SystemError("recv"));
    have += static_cast<size_t>(n);
  }
  return bytes;
}

std::string Number(uint32_t n) {
  std::string bytes(sizeof(n), '\0');
  std::memcpy(bytes.data(), &n, sizeof(n));
  return bytes;
}
uint32_t NumberAt(std::string_view bytes, size_t index) {
  uint32_t n = 0;
  std::memcpy(&n, bytes.data() + index * sizeof(n), sizeof(n));
  return n;
}

Result<sockaddr_in> Resolve(const Meeting& meeting) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(meeting.address.c_str(), nullptr, &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  if (rc != 0 || found == nullptr) {
    return Fail(Code::kUnavailable, fmt::format("MASTER_ADDR {} does not resolve: {}",
                                                meeting.address, gai_strerror(rc)));
  }
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof(address));
  address.sin_port = htons(static_cast<uint16_t>(meeting.port));
  return address;
}

// What rank 0 tells everybody: 0 and all the bytes, or a code and a sentence.
struct Arrival {
  Socket socket;
  std::string brought;
};

void TellAll(std::vector<Arrival>& arrivals, const std::string& message, Clock& clock) {
  const Duration deadline = clock.Monotonic() + kGrace;
  for (Arrival& arrival : arrivals) {
    if (arrival.socket.fd() < 0) continue;
    // A rank that died meanwhile is noticed by the collective.
    const Status sent = SendAll(arrival.socket.fd(), message, deadline, clock);
    (void)sent.ok();
  }
}

Error Missing(const Meeting& meeting, const std::vector<bool>& came) {
  std::vector<int> missing;
  for (int r = 0; r < meeting.world; ++r)
    if (!came[static_cast<size_t>(r)]) missing.push_back(r);
  return Error{Code::kTimeout,
               fmt::format("rendezvous: {} of {} ranks did not come within {}: missing rank {}",
                           missing.size(), meeting.world, FormatDuration(meeting.timeout),
                           fmt::join(missing, ", ")),
               {}};
}

std::string Refusal(const Error& error) {
  return Number(kMagic) + Number(error.code == Code::kTimeout ? 1 : 2) +
         Number(static_cast<uint32_t>(error.message.size())) + error.message;
}

Result<Socket> Listen(const Meeting& meeting, Duration deadline, Clock& clock) {
  TRY(const sockaddr_in address, Resolve(meeting));
  for (;;) {
    Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (listener.fd() < 0) return Fail(SystemError("socket"));
    const int on = 1;
    setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      if (listen(listener.fd(), 1024) == 0) return listener;
      return Fail(SystemError("listen"));
    }
    if (errno != EADDRINUSE || clock.Monotonic() >= deadline)
      return Fail(SystemError(
          fmt::format("rendezvous: rank 0 cannot listen at {}:{}", meeting.address, meeting.port)));
    clock.SleepFor(std::chrono::milliseconds(50));
  }
}

// Reads one rank's greeting; nothing when it is not one of us (or went away).
Result<int> Greet(Socket socket, const Meeting& meeting, std::vector<Arrival>& arrivals,
                  std::vector<bool>& came, Duration deadline, Clock& clock) {
  const auto head = ReceiveExactly(socket.fd(), 4 * sizeof(uint32_t), deadline, clock);
  if (!head.ok() || NumberAt(*head, 0) != kMagic) return -1;
  const uint32_t rank = NumberAt(*head, 1), world = NumberAt(*head, 2), size = NumberAt(*head, 3);
  if (size > kMaxMessage) return -1;
  auto bytes = ReceiveExactly(socket.fd(), size, deadline, clock);
  if (!bytes.ok()) return -1;
  if (world != static_cast<uint32_t>(meeting.world) || rank >= world) {
    return Fail(Code::kConflict,
                fmt::format("rendezvous: a process came as rank {} of {}, this gang has {} ranks",
                            rank, world, meeting.world));
  }
  if (came[rank])
    return Fail(Code::kConflict, fmt::format("rendezvous: two processes came as rank {}", rank));
  came[rank] = true;
  arrivals[rank] = {std::move(socket), std::move(*bytes)};
  return static_cast<int>(rank);
}

Result<std::vector<std::string>> Host(const Meeting& meeting, std::string_view brought,
                                      Clock& clock) {
  const Duration deadline = clock.Monotonic() + meeting.timeout;
  TRY(const Socket listener, Listen(meeting, deadline, clock));
  const auto world = static_cast<size_t>(meeting.world);
  std::vector<Arrival> arrivals(world);
  std::vector<bool> came(world);
  came[0] = true;
  arrivals[0].brought = std::string(brought);
  for (size_t count = 1; count < world;) {
    if (!Ready(listener.fd(), POLLIN, deadline, clock)) {
      Error error = Missing(meeting, came);
      TellAll(arrivals, Refusal(error), clock);
      return Fail(std::move(error));
    }
    Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.fd() < 0) continue;
    const Duration patience = std::min(deadline, clock.Monotonic() + std::chrono::seconds(2));
    auto rank = Greet(std::move(socket), meeting, arrivals, came, patience, clock);
    if (!rank.ok()) {
      TellAll(arrivals, Refusal(rank.error()), clock);
      return Fail(std::move(rank.error()));
    }
    if (*rank > 0) ++count;
  }
  std::string body;
  std::vector<std::string> all;
  for (Arrival& arrival : arrivals) {
    body += Number(static_cast<uint32_t>(arrival.brought.size())) + arrival.brought;
    all.push_back(std::move(arrival.brought));
  }
  TellAll(arrivals, Number(kMagic) + Number(0) + Number(static_cast<uint32_t>(body.size())) + body,
          clock);
  return all;
}

Result<Socket> Connect(const Meeting& meeting, Duration deadline, Clock& clock) {
  TRY(const sockaddr_in address, Resolve(meeting));
  for (;;) {
    Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.fd() < 0) return Fail(SystemError("socket"));
    if (connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
      return socket;
    if (clock.Monotonic() >= deadline) {
      return Fail(
          Code::kTimeout,
          fmt::format("rendezvous: rank 0 did not listen at {}:{} within {}: missing rank 0",
                      meeting.address, meeting.port, FormatDuration(meeting.timeout)));
    }
    clock.SleepFor(std::chrono::milliseconds(20));
  }
}

Result<std::vector<std::string>> Attend(const Meeting& meeting, std::string_view brought,
                                        Clock& clock) {
  const Duration deadline = clock.Monotonic() + meeting.timeout;
  TRY(const Socket socket, Connect(meeting, deadline, clock));
  const std::string greeting = Number(kMagic) + Number(static_cast<uint32_t>(meeting.rank)) +
                               Number(static_cast<uint32_t>(meeting.world)) +
                               Number(static_cast<uint32_t>(brought.size())) + std::string(brought);
  TRY_VOID(SendAll(socket.fd(), greeting, deadline, clock));
  const Duration patience = deadline + kGrace;
  TRY(const std::string head, ReceiveExactly(socket.fd(), 3 * sizeof(uint32_t), patience, clock)
                                  .Context("rendezvous: waiting for rank 0"));
  const uint32_t size = NumberAt(head, 2);
  if (NumberAt(head, 0) != kMagic || size > kMaxMessage)
    return Fail(Code::kParse, "rendezvous: something else answers at rank 0's port");
  TRY(const std::string body, ReceiveExactly(socket.fd(), size, patience, clock));
  if (const uint32_t code = NumberAt(head, 1); code != 0)
    return Fail(code == 1 ? Code::kTimeout : Code::kConflict, body);
  std::vector<std::string> all;
  std::string_view rest = body;
  while (rest.size() >= sizeof(uint32_t)) {
    const uint32_t length = NumberAt(rest, 0);
    rest.remove_prefix(sizeof(uint32_t));
    if (length > rest.size()) break;
    all.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  if (all.size() != static_cast<size_t>(meeting.world))
    return Fail(Code::kParse, "rendezvous: rank 0's list is cut");
  return all;
}

}  // namespace

Result<std::vector<std::string>> Meet(const Meeting& meeting, std::string_view brought,
                                      Clock& clock) {
  if (meeting.world < 1 || meeting.rank < 0 || meeting.rank >= meeting.world) {
    return Fail(Code::kInvalid,
                fmt::format("rank {} of a world of {}", meeting.rank, meeting.world));
  }
  if (meeting.world == 1) return std::vector<std::string>{std::string(brought)};
  return meeting.rank == 0 ? Host(meeting, brought, clock) : Attend(meeting, brought, clock);
}

}  // namespace muster::lab
