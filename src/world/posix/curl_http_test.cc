// HTTP over a real socket of the loopback.
#include <arpa/inet.h>
#include <atomic>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/strings.h"
#include "world/testing/posix_fixture.h"

namespace muster {
namespace {

using testing::PosixTest;

// One connection after another, each answered with the pieces given, one write for each.
class TinyServer {
 public:
  explicit TinyServer(std::vector<std::string> pieces, bool keep_alive = false)
      : pieces_(std::move(pieces)), keep_alive_(keep_alive) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TinyServer() {
    ::shutdown(listener_, SHUT_RDWR);
    ::shutdown(peer_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string Url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  int connections() const { return connections_; }
  std::string last_request() const { return last_request_; }  // after the answer came

 private:
  void Serve() {
    for (;;) {
      const int peer = ::accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      ++connections_;
      peer_ = peer;
      while (ReadRequest(peer)) {
        for (const std::string& piece : pieces_) {
          if (::send(peer, piece.data(), piece.size(), MSG_NOSIGNAL) < 0) break;
        }
        if (!keep_alive_) break;
      }
      peer_ = -1;
      ::close(peer);
    }
  }
  bool ReadRequest(int peer) {
    std::string text;
    char buffer[4096];
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(peer, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      text.append(buffer, static_cast<size_t>(got));
    }
    last_request_ = text;
    return true;
  }

  std::vector<std::string> pieces_;
  bool keep_alive_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> peer_ = -1;
  std::string last_request_;
  std::thread thread_;
};

HttpRequest Get(std::string url) {
  HttpRequest request;
  request.url = std::move(url);
  request.timeout = std::chrono::seconds(30);
  return request;
}

TEST_F(PosixTest, HttpAnswerHasStatusHeadersAndBody) {
  TinyServer server(
      {"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nX-Two: a\r\nX-Two: "
       "b\r\nContent-Length: 4\r\n\r\ngone"});
  HttpRequest request = Get(server.Url("/x?y=1"));
  request.headers["X-Mine"] = "value";
  const auto response = w_.http.Do(request);
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->headers.at("content-type"), "text/plain");
  EXPECT_EQ(response->headers.at("x-two"), "a, b");
  EXPECT_EQ(response->body, "gone");
  EXPECT_TRUE(Contains(server.last_request(), "GET /x?y=1 HTTP/1.1"));
  EXPECT_TRUE(Contains(server.last_request(), "X-Mine: value"));
}

TEST_F(PosixTest, HttpConnectionIsUsedAgain) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, true);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(w_.http.Do(Get(server.Url()))->body, "ok");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(PosixTest, HttpLoopbackGoesPastAnyProxy) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"});
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(w_.http.Do(Get(server.Url())).ok());
  ::unsetenv("http_proxy");
}

TEST_F(PosixTest, HttpFailuresAreToldApart) {
  EXPECT_EQ(w_.http.Do(Get("http://127.0.0.1:1/")).error().code, Code::kUnavailable);
  EXPECT_TRUE(w_.http.Do(Get("http://127.0.0.1:1/")).error().retryable);
  EXPECT_EQ(w_.http.Do(Get("not a url")).error().code, Code::kInvalid);
  EXPECT_EQ(w_.http.Do(Get("file:///etc/passwd")).error().code, Code::kInvalid);
  TinyServer cut({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"});
  EXPECT_FALSE(w_.http.Do(Get(cut.Url())).ok());
  TinyServer other({"SSH-2.0-OpenSSH_9.2p1\r\n"});
  EXPECT_EQ(w_.http.Do(Get(other.Url())).error().code, Code::kParse);
  TinyServer large({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"});
  HttpRequest request = Get(large.Url());
  request.max_body = 9;
  EXPECT_EQ(w_.http.Do(request).error().code, Code::kParse);
}

TEST_F(PosixTest, HttpServerThatSaysNothingIsATimeout) {
  TinyServer silent({}, true);
  HttpRequest request = Get(silent.Url());
  request.timeout = std::chrono::milliseconds(100);
  EXPECT_EQ(w_.http.Do(request).error().code, Code::kTimeout);
}

TEST_F(PosixTest, HttpStreamHandsPiecesOverWithRisingStampsAfterTheRequestWentOut) {
  TinyServer server({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\none\r\n",
                     "3\r\ntwo\r\n", "0\r\n\r\n"});
  std::string body;
  Duration last{}, sent{};
  const Duration before = w_.clock.Monotonic();
  const auto response = w_.http.Stream(
      Get(server.Url()),
      [&](std::string_view bytes, Duration at) {
        EXPECT_GE(at, last);
        last = at;
        body += bytes;
        return true;
      },
      sent);
  ASSERT_TRUE(response.ok()) << response.error().ToString();
  EXPECT_EQ(body, "onetwo");
  EXPECT_EQ(response->body, "");
  EXPECT_GT(sent, before);
  EXPECT_GT(last, sent);
}

TEST_F(PosixTest, HttpStreamEndsWhenTheCallerHasEnough) {
  TinyServer server({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst"});
  Duration sent{};
  const auto response =
      w_.http.Stream(Get(server.Url()), [](std::string_view, Duration) { return false; }, sent);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 200);
}

}  // namespace
}  // namespace muster
