#include "backend/lab/kubernetes/dns.h"

#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "backend/lab/kubernetes/dns_server.h"
#include "world/testing/fake_clock.h"

namespace muster::lab {
namespace {

using namespace std::chrono_literals;

std::string Query(const std::string& name, uint16_t type = 1) {
  std::string packet("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  size_t from = 0;
  while (from < name.size()) {
    const size_t dot = std::min(name.find('.', from), name.size());
    packet += static_cast<char>(dot - from);
    packet += name.substr(from, dot - from);
    from = dot + 1;
  }
  packet += '\0';
  packet += static_cast<char>(type >> 8);
  packet += static_cast<char>(type & 0xff);
  packet += std::string("\0\1", 2);
  return packet;
}
int RcodeOf(const std::string& reply) { return reply.at(3) & 0x0f; }
int AnswersOf(const std::string& reply) {
  return (static_cast<uint8_t>(reply.at(6)) << 8) | static_cast<uint8_t>(reply.at(7));
}

const char* const kRank0 = "ddp-0.ddp.default.svc.cluster.local";

TEST(DnsPackets, AKnownNameHasItsAddress) {
  const std::string reply = AnswerDnsQuery(Query("DDP-0.ddp"), [](const std::string& name) {
    EXPECT_EQ(name, "ddp-0.ddp");
    return DnsAnswer{true, {ParseIpv4("10.64.0.7")}};
  });
  EXPECT_EQ(reply.substr(0, 2), "\x12\x34");
  EXPECT_EQ(RcodeOf(reply), 0);
  EXPECT_EQ(AnswersOf(reply), 1);
  EXPECT_EQ(reply.substr(reply.size() - 4), std::string("\x0a\x40\x00\x07", 4));
}

TEST(DnsPackets, AnUnknownNameAndAnotherTypeAreToldApart) {
  const auto none = [](const std::string&) { return DnsAnswer{}; };
  const auto known = [](const std::string&) { return DnsAnswer{true, {1}}; };
  EXPECT_EQ(RcodeOf(AnswerDnsQuery(Query("a.b"), none)), 3);
  const std::string six = AnswerDnsQuery(Query("a.b", 28), known);
  EXPECT_EQ(RcodeOf(six), 0);
  EXPECT_EQ(AnswersOf(six), 0);
}

TEST(DnsPackets, WhatIsNoQueryGetsSilenceOrTheRightRefusal) {
  const auto none = [](const std::string&) { return DnsAnswer{}; };
  std::string packet = Query("a.b");
  for (size_t n = 0; n + 4 < packet.size(); ++n)
    EXPECT_EQ(AnswerDnsQuery(packet.substr(0, n), none), "") << n;
  std::string reply = packet;
  reply[2] = static_cast<char>(0x81);
  EXPECT_EQ(AnswerDnsQuery(reply, none), "");
  std::string pointer = packet;
  pointer[12] = static_cast<char>(0xc0);
  EXPECT_EQ(RcodeOf(AnswerDnsQuery(pointer, none)), 1);
  std::string update = packet;
  update[2] = 0x28;
  EXPECT_EQ(RcodeOf(AnswerDnsQuery(update, none)), 4);
  std::string two = packet;
  two[5] = 2;
  EXPECT_EQ(RcodeOf(AnswerDnsQuery(two, none)), 1);
}

TEST(DnsPackets, WhatDoesNotFitIsLeftOutAndSaid) {
  const std::string reply = AnswerDnsQuery(Query("ddp"), [](const std::string&) {
    return DnsAnswer{true, std::vector<uint32_t>(100, 7)};
  });
  EXPECT_LE(reply.size(), 512u);
  EXPECT_NE(reply[2] & 0x02, 0);
  EXPECT_GT(AnswersOf(reply), 20);
}

RC_GTEST_PROP(DnsPackets, NoBytesBreakIt, (const std::string& bytes)) {
  const std::string reply =
      AnswerDnsQuery(bytes, [](const std::string&) { return DnsAnswer{true, {1, 2}}; });
  RC_ASSERT(reply.size() <= 512u || reply.size() <= bytes.size() + 32);
}

TEST(DnsZone, ANameAppearsAMomentAfterItsAddress) {
  DnsZone zone({500ms, Duration::zero()});
  zone.Add(kRank0, 7, 10s);
  EXPECT_EQ(*zone.PublishedAt(kRank0), 10s + 500ms);
  EXPECT_FALSE(zone.Find(kRank0, 10s + 499ms).exists);
  EXPECT_TRUE(zone.Find(kRank0, 10s + 500ms).exists);
  zone.Add(kRank0, 7, 20s);  // the same again does not hide it
  EXPECT_TRUE(zone.Find(kRank0, 20s).exists);
  zone.Remove(kRank0, 7);
  EXPECT_FALSE(zone.Find(kRank0, 30s).exists);
  EXPECT_EQ(zone.size(), 0u);
}

TEST(DnsZone, WhoAsksTooEarlyIsDeniedForAWhile) {
  DnsZone zone({500ms, 5s});
  EXPECT_FALSE(zone.Find(kRank0, 10s).exists);
  zone.Add(kRank0, 7, 10s);
  EXPECT_FALSE(zone.Find(kRank0, 14s).exists);
  EXPECT_TRUE(zone.Find(kRank0, 15s).exists);
}

TEST(PodNames, AreThePodsOwnAndItsServices) {
  EXPECT_EQ(PodNames("ddp-0", "ddp", "default"),
            (std::vector<std::string>{kRank0, "ddp.default.svc.cluster.local"}));
  EXPECT_EQ(PodNames("", "ddp", "ml").size(), 1u);
}

TEST(DnsServer, AnswersOverUdpOnLoopback) {
  muster::testing::FakeClock clock;
  DnsZone zone({Duration::zero(), Duration::zero()});
  zone.Add(kRank0, ParseIpv4("10.64.0.7"), clock.Monotonic());
  auto server = DnsServer::Start(zone, clock, "127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.error().ToString();
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  timeval limit{10, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>((*server)->port()));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const std::string& packet : {std::string("junk"), Query(kRank0)})
    ::sendto(fd, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
  std::array<char, 512> buffer{};
  const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
  ::close(fd);
  ASSERT_GT(n, 12);
  EXPECT_EQ(AnswersOf({buffer.data(), static_cast<size_t>(n)}), 1);
}

TEST(DnsServer, ListensOnLoopbackAlone) {
  muster::testing::FakeClock clock;
  DnsZone zone;
  EXPECT_FALSE(DnsServer::Start(zone, clock, "0.0.0.0", 0).ok());
  EXPECT_FALSE(DnsServer::Start(zone, clock, "10.0.0.1", 0).ok());
}

}  // namespace
}  // namespace muster::lab
