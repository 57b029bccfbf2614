#include "world/posix/free_port.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world/posix/unique_fd.h"

namespace muster {

namespace {

constexpr uint32_t kTries = 100;

bool MayBind(int port) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return fd.get() >= 0 &&
         ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

Result<int> FreeLoopbackPort() {
  // Processes that ask at the same moment begin at different ports.
  static std::atomic<uint32_t> next = static_cast<uint32_t>(::getpid()) * 37u;
  for (uint32_t n = 0; n < kTries; ++n) {
    const int port = static_cast<int>(kFirstMeetingPort + next++ % kMeetingPorts);
    if (MayBind(port)) return port;
  }
  return Fail(Code::kUnavailable,
              std::string("no free port on the loopback: ") + std::strerror(errno));
}

}  // namespace muster
