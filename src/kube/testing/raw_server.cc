#include "kube/testing/raw_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/check.h"
#include "base/strings.h"

namespace muster::kube::testing {

std::string RawServer::Peer::Request() {
  char chunk[65536];
  while (true) {
    const size_t end = buffer_.find("\r\n\r\n");
    if (end != std::string::npos) {
      size_t length = 0;
      const std::string head = ToLower(std::string_view(buffer_).substr(0, end));
      if (const size_t at = head.find("content-length:"); at != std::string::npos) {
        const auto text = std::string_view(head).substr(at + 15);
        length = static_cast<size_t>(ParseInt(Trim(text.substr(0, text.find('\r')))).value_or(0));
      }
      if (buffer_.size() >= end + 4 + length) {
        std::string request = buffer_.substr(0, end + 4 + length);
        buffer_.erase(0, request.size());
        return request;
      }
    }
    const ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
    if (got <= 0) return {};
    buffer_.append(chunk, static_cast<size_t>(got));
  }
}

void RawServer::Peer::Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t got = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got <= 0) return;
    sent += static_cast<size_t>(got);
  }
}

void RawServer::Peer::Respond(int status, const std::string& body, const std::string& headers) {
  Send(fmt::format("HTTP/1.1 {} x\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers,
                   body));
}

void RawServer::Peer::WaitForHangUp() {
  char byte = 0;
  pollfd wait{fd_, POLLIN, 0};
  while (poll(&wait, 1, 20000) > 0 && recv(fd_, &byte, 1, 0) > 0) {
  }
}

RawServer::RawServer(std::function<void(Peer&)> serve) : serve_(std::move(serve)) {
  listen_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(bind(listen_, reinterpret_cast<sockaddr*>(&address), size) == 0, "loopback has free ports");
  CHECK(listen(listen_, 64) == 0, "a bound socket listens");
  getsockname(listen_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] {
    while (!stop_) {
      pollfd wait{listen_, POLLIN, 0};
      if (poll(&wait, 1, 20) <= 0) continue;
      const int fd = accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] {
        Peer peer(fd);
        serve_(peer);
        const std::lock_guard inner(mutex_);
        open_.remove(fd);
        close(fd);
      });
    }
  });
}

RawServer::~RawServer() {
  stop_ = true;
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  close(listen_);
}

}  // namespace muster::kube::testing
