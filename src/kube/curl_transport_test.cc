#include "kube/curl_transport.h"

#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/core.h"
#include "kube/reflector.h"
#include "kube/testing/raw_server.h"
#include "world/posix/posix_clock.h"
#include "world/testing/memory_files.h"
#include "world/testing/scripted_processes.h"

namespace muster::kube {
namespace {

using ::testing::HasSubstr;
using testing::RawServer;

struct Outcome {
  int status = 0;
  std::string body;
  std::optional<Status> end;
};

ExchangeEvents Into(Outcome& outcome) {
  return {[&outcome](const ResponseHead& head) { outcome.status = head.status; },
          [&outcome](std::string_view bytes) { outcome.body += bytes; },
          [&outcome](Status how) { outcome.end = std::move(how); }};
}

// A bounded number of polls; each returns as soon as something happened.
template <typename Done>
bool PollUntil(Transport& transport, Done done) {
  for (int i = 0; i < 2000 && !done(); ++i) transport.Poll(std::chrono::milliseconds(100));
  return done();
}

Exchange GetOf(const std::string& path) {
  Exchange exchange;
  exchange.path = path;
  return exchange;
}

CurlOptions To(const std::string& server) {
  CurlOptions options;
  options.server = server;
  return options;
}

TEST(CurlTransport, AnswersManyAtOnceOverFewConnections) {
  RawServer server([](RawServer::Peer& peer) {
    for (std::string request = peer.Request(); !request.empty(); request = peer.Request()) {
      peer.Respond(200, request.substr(0, request.find("\r\n")));
    }
  });
  CurlTransport transport(To(server.url()));
  std::vector<Outcome> outcomes(300);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    transport.Start(GetOf("/x" + std::to_string(i)), Into(outcomes[i]));
  }
  ASSERT_TRUE(PollUntil(transport, [&] { return transport.open() == 0; }));
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ASSERT_TRUE(outcomes[i].end && outcomes[i].end->has_value()) << i;
    EXPECT_EQ(outcomes[i].body, "GET /x" + std::to_string(i) + " HTTP/1.1");
  }
  EXPECT_LE(server.connections(), 32);
}

TEST(CurlTransport, GoesThroughTheProxyThatItIsGivenEvenToLoopback) {
  std::string connect, request;
  RawServer proxy([&](RawServer::Peer& peer) {
    connect = peer.Request();
    peer.Send("HTTP/1.1 200 Connection established\r\n\r\n");
    request = peer.Request();
    peer.Respond(200, "through");
  });
  CurlOptions options = To("http://127.0.0.1:1");
  options.proxy = proxy.url();
  CurlTransport transport(options);
  Outcome outcome;
  transport.Start(GetOf("/api"), Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  EXPECT_EQ(outcome.body, "through");
  EXPECT_THAT(connect, HasSubstr("CONNECT 127.0.0.1:1 "));
  EXPECT_THAT(request, HasSubstr("GET /api "));
}

TEST(CurlTransport, SendsMethodHeadersAndBody) {
  std::string seen;
  RawServer server([&seen](RawServer::Peer& peer) {
    seen = peer.Request();
    peer.Respond(201, "made", "X-Kubernetes: Yes\r\n");
  });
  CurlTransport transport(To(server.url()));
  Exchange exchange = GetOf("/api");
  exchange.method = "PATCH";
  exchange.headers = {{"Content-Type", "application/merge-patch+json"}};
  exchange.body = std::string(200000, 'x');
  Outcome outcome;
  transport.Start(exchange, Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  EXPECT_EQ(outcome.status, 201);
  EXPECT_THAT(seen.substr(0, 500), HasSubstr("PATCH /api HTTP/1.1"));
  EXPECT_THAT(seen.substr(0, 500), HasSubstr("application/merge-patch+json"));
  EXPECT_EQ(seen.size() - seen.find("\r\n\r\n") - 4, 200000u);
}

TEST(CurlTransport, AConnectionLostInTheBodyIsNoAnswer) {
  RawServer server([](RawServer::Peer& peer) {
    peer.Request();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":");
  });
  CurlTransport transport(To(server.url()));
  Outcome outcome;
  transport.Start(GetOf("/"), Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  ASSERT_FALSE(outcome.end->has_value());
  EXPECT_EQ(outcome.end->error().code, Code::kUnavailable);
  EXPECT_TRUE(outcome.end->error().retryable);
}

TEST(CurlTransport, ASlowServerIsATimeout) {
  RawServer server([](RawServer::Peer& peer) {
    peer.Request();
    peer.WaitForHangUp();
  });
  CurlTransport transport(To(server.url()));
  Exchange exchange = GetOf("/");
  exchange.timeout = std::chrono::milliseconds(50);
  Outcome outcome;
  transport.Start(exchange, Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  ASSERT_FALSE(outcome.end->has_value());
  EXPECT_EQ(outcome.end->error().code, Code::kTimeout);
}

TEST(CurlTransport, NobodyThereIsUnavailable) {
  std::string url;
  {
    RawServer gone([](RawServer::Peer&) {});
    url = gone.url();
  }
  CurlTransport transport(To(url));
  Outcome outcome;
  transport.Start(GetOf("/"), Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  EXPECT_EQ(outcome.end->error().code, Code::kUnavailable);
}

TEST(CurlTransport, SomethingThatIsNoHttpIsNamedSo) {
  RawServer server([](RawServer::Peer& peer) {
    peer.Request();
    peer.Send("SSH-2.0-OpenSSH_9.2\r\n");
  });
  CurlTransport transport(To(server.url()));
  Outcome outcome;
  transport.Start(GetOf("/"), Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  EXPECT_EQ(outcome.end->error().code, Code::kParse);
}

TEST(CurlTransport, NoPemIsAnErrorNotACrash) {
  CurlOptions options = To("https://127.0.0.1:1");
  options.tls.ca_pem = "not a certificate";
  options.tls.cert_pem = "nor this";
  options.tls.key_pem = "nor that";
  CurlTransport transport(options);
  Outcome outcome;
  transport.Start(GetOf("/"), Into(outcome));
  ASSERT_TRUE(PollUntil(transport, [&] { return outcome.end.has_value(); }));
  EXPECT_FALSE(outcome.end->has_value());
}

TEST(CurlTransport, ACallbackMayCancelItsOwnStream) {
  RawServer server([](RawServer::Peer& peer) {
    peer.Request();
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    peer.WaitForHangUp();
  });
  CurlTransport transport(To(server.url()));
  Exchange exchange = GetOf("/");
  exchange.long_lived = true;
  exchange.timeout = Duration::zero();
  uint64_t id = 0;
  int pieces = 0;
  id = transport.Start(exchange, {{},
                                  [&](std::string_view) {
                                    ++pieces;
                                    transport.Cancel(id);
                                  },
                                  [](const Status&) { FAIL(); }});
  ASSERT_TRUE(PollUntil(transport, [&] { return pieces == 1 && transport.open() == 0; }));
}

// The whole way, over sockets: a watch that is cut inside an event, 410, an expired token.
TEST(CurlTransport, AReflectorFollowsThroughCutsAndA410) {
  const auto pod = [](const char* name, int version) {
    return "{\"metadata\":{\"name\":\"" + std::string(name) + "\",\"uid\":\"" + name +
           "\",\"resourceVersion\":\"" + std::to_string(version) + "\"}}";
  };
  const auto event = [&](const char* type, const std::string& object) {
    return "{\"type\":\"" + std::string(type) + "\",\"object\":" + object + "}\n";
  };
  const auto chunk = [](const std::string& text) {
    char size[32];
    snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + text + "\r\n";
  };
  std::atomic<int> lists = 0, watches = 0;
  RawServer server([&](RawServer::Peer& peer) {
    for (std::string request = peer.Request(); !request.empty(); request = peer.Request()) {
      if (request.find("watch=true") == std::string::npos) {
        const bool first = ++lists == 1;
        peer.Respond(200, first ? R"({"metadata":{"resourceVersion":"10"},"items":[)" +
                                      pod("a", 5) + "," + pod("b", 6) + "]}"
                                : R"({"metadata":{"resourceVersion":"30"},"items":[)" +
                                      pod("c", 20) + "," + pod("d", 25) + "]}");
        continue;
      }
      const int n = ++watches;
      const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      if (n == 1) {
        EXPECT_THAT(request, HasSubstr("resourceVersion=10"));
        const std::string next = event("DELETED", pod("a", 12));
        peer.Send(head + chunk(event("ADDED", pod("c", 11)) + next.substr(0, 20)));
        return;  // cut in the middle
      }
      if (n == 2) {
        EXPECT_THAT(request, HasSubstr("resourceVersion=11"));
        peer.Respond(410, R"({"kind":"Status","code":410,"reason":"Expired"})");
        continue;
      }
      peer.Send(head);
      peer.WaitForHangUp();
      return;
    }
  });
  muster::testing::MemoryFiles files;
  muster::testing::ScriptedProcesses processes;
  PosixClock clock;
  SeededRandom random(1);
  ClusterConfig config;
  config.server = server.url();
  Credentials credentials(config, clock, files, processes);
  CurlTransport transport(To(server.url()));
  Client client(config, transport, credentials, clock, random);
  Followed followed;
  followed.resource = kPods;
  std::vector<std::string> changes;
  Reflector<Pod> reflector(client, followed, DecodePod, [&](const Change<Pod>& change) {
    changes.push_back((change.kind == ChangeKind::kAdded     ? "+"
                       : change.kind == ChangeKind::kDeleted ? "-"
                                                             : "~") +
                      (change.after != nullptr ? change.after : change.before)->meta.name);
  });
  reflector.Start();
  for (int i = 0; i < 2000 && watches < 3; ++i) client.Poll(std::chrono::milliseconds(50));
  EXPECT_EQ(watches, 3);
  EXPECT_EQ(lists, 2);
  ASSERT_EQ(changes.size(), 7u);
  std::sort(changes.begin(), changes.begin() + 2);
  EXPECT_EQ((std::vector<std::string>(changes.begin(), changes.begin() + 3)),
            (std::vector<std::string>{"+a", "+b", "+c"}));
  std::sort(changes.begin() + 3, changes.end());
  EXPECT_EQ((std::vector<std::string>(changes.begin() + 3, changes.end())),
            (std::vector<std::string>{"+d", "-a", "-b", "~c"}));
  reflector.Stop();
}

}  // namespace
}  // namespace muster::kube
