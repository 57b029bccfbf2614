#include "backend/lab/kubernetes/dns_server.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace muster::lab {

Result<std::unique_ptr<DnsServer>> DnsServer::Start(DnsZone& zone, Clock& clock,
                                                    const std::string& address, int port) {
  const uint32_t ip = ParseIpv4(address);
  if ((ip >> 24) != 127 || port < 0 || port > 65535)
    return Fail(Code::kInvalid, address + ": expected a loopback address, and a port to 65535");
  const auto failed = [&](const char* what, int fd) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return Fail(Code::kUnavailable, fmt::format("DNS at {}:{}: {}: {}", address, port, what, why));
  };
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed("socket", fd);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<uint16_t>(port));
  at.sin_addr.s_addr = htonl(ip);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return failed("bind", fd);
  socklen_t length = sizeof at;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0)
    return failed("getsockname", fd);
  int wake[2];
  if (::pipe2(wake, O_CLOEXEC) != 0) return failed("pipe", fd);
  return std::unique_ptr<DnsServer>(
      new DnsServer(zone, clock, fd, wake[0], wake[1], ntohs(at.sin_port)));
}

DnsServer::DnsServer(DnsZone& zone, Clock& clock, int socket, int wake_read, int wake_write,
                     int port)
    : zone_(zone),
      clock_(clock),
      socket_(socket),
      wake_read_(wake_read),
      wake_write_(wake_write),
      port_(port),
      thread_([this] { Loop(); }) {}

DnsServer::~DnsServer() {
  const char end = 'x';
  while (::write(wake_write_, &end, 1) < 0 && errno == EINTR) {
  }
  thread_.join();
  for (const int fd : {socket_, wake_read_, wake_write_}) ::close(fd);
}

void DnsServer::Loop() {
  std::array<char, 1500> buffer{};
  while (true) {
    std::array<pollfd, 2> wait = {{{socket_, POLLIN, 0}, {wake_read_, POLLIN, 0}}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    if ((wait[0].revents & POLLIN) == 0) continue;
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const ssize_t n = ::recvfrom(socket_, buffer.data(), buffer.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (n <= 0) continue;
    const Duration now = clock_.Monotonic();
    const std::string reply =
        AnswerDnsQuery({buffer.data(), static_cast<size_t>(n)},
                       [&](const std::string& name) { return zone_.Find(name, now); });
    if (reply.empty()) continue;
    if (::sendto(socket_, reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from),
                 length) >= 0)
      ++answered_;
  }
}

}  // namespace muster::lab
