#include "backend/lab/kubernetes/dns.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lab {

namespace {

constexpr size_t kHeader = 12, kMostBytes = 512, kMostName = 253, kMostDenied = 4096;
constexpr uint16_t kTypeA = 1, kTypeAny = 255, kClassIn = 1, kClassAny = 255;
constexpr uint32_t kTtlSeconds = 5;  // what CoreDNS's kubernetes plugin gives by default
enum Rcode : uint8_t { kNoError = 0, kFormErr = 1, kNxDomain = 3, kNotImp = 4 };

uint16_t Word(std::string_view packet, size_t at) {
  return static_cast<uint16_t>((static_cast<uint8_t>(packet[at]) << 8) |
                               static_cast<uint8_t>(packet[at + 1]));
}
void PutWord(std::string& into, uint32_t value) {
  into += static_cast<char>((value >> 8) & 0xff);
  into += static_cast<char>(value & 0xff);
}

// Header of a reply: same id, opcode and RD; QR and AA set.
std::string Head(std::string_view packet, Rcode rcode, bool truncated, uint32_t answers,
                 bool question) {
  std::string head(packet.substr(0, 2));
  const auto flags = static_cast<uint8_t>(packet[2]);
  head += static_cast<char>(0x84 | (flags & 0x79) | (truncated ? 0x02 : 0));
  head += static_cast<char>(rcode);
  PutWord(head, question ? 1 : 0);
  PutWord(head, answers);
  PutWord(head, 0);
  PutWord(head, 0);
  return head;
}

struct Question {
  std::string name;  // lower case
  uint16_t type = 0, in_class = 0;
  size_t end = 0;  // of the question in the packet
};
enum class Read { kFine, kCut, kMalformed };

Read ReadQuestion(std::string_view packet, Question& question) {
  size_t at = kHeader;
  while (true) {
    if (at >= packet.size()) return Read::kCut;
    const auto length = static_cast<uint8_t>(packet[at]);
    if (length == 0) break;
    if (length > 63) return Read::kMalformed;  // a pointer has nothing to point to yet
    if (at + 1 + length > packet.size()) return Read::kCut;
    if (!question.name.empty()) question.name += '.';
    for (const char c : packet.substr(at + 1, length)) {
      // A dot inside a label would be another name once it is text.
      if (c == '.' || c == '\0') return Read::kMalformed;
      question.name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    if (question.name.size() > kMostName) return Read::kMalformed;
    at += 1u + length;
  }
  if (at + 5 > packet.size()) return Read::kCut;
  question.type = Word(packet, at + 1);
  question.in_class = Word(packet, at + 3);
  question.end = at + 5;
  return Read::kFine;
}

}  // namespace

std::string AnswerDnsQuery(std::string_view packet, const DnsLookup& lookup) {
  if (packet.size() < kHeader) return "";
  const auto flags = static_cast<uint8_t>(packet[2]);
  if ((flags & 0x80) != 0) return "";  // a reply: two servers must not talk to each other for ever
  if ((flags & 0x78) != 0) return Head(packet, kNotImp, false, 0, false);
  if (Word(packet, 4) != 1) return Head(packet, kFormErr, false, 0, false);
  Question question;
  switch (ReadQuestion(packet, question)) {
    case Read::kCut:
      return "";
    case Read::kMalformed:
      return Head(packet, kFormErr, false, 0, false);
    case Read::kFine:
      break;
  }
  const std::string_view asked = packet.substr(kHeader, question.end - kHeader);
  const bool in = question.in_class == kClassIn || question.in_class == kClassAny;
  const DnsAnswer answer = in ? lookup(question.name) : DnsAnswer{};
  if (!answer.exists) return Head(packet, kNxDomain, false, 0, true) + std::string(asked);
  std::vector<uint32_t> addresses;
  if (question.type == kTypeA || question.type == kTypeAny) addresses = answer.addresses;
  const size_t room = (kMostBytes - kHeader - asked.size()) / 16;
  const bool truncated = addresses.size() > room;
  if (truncated) addresses.resize(room);
  std::string reply =
      Head(packet, kNoError, truncated, static_cast<uint32_t>(addresses.size()), true) +
      std::string(asked);
  for (const uint32_t address : addresses) {
    PutWord(reply, 0xc000 | kHeader);  // the name, as it stands in the question
    PutWord(reply, kTypeA);
    PutWord(reply, kClassIn);
    PutWord(reply, 0);
    PutWord(reply, kTtlSeconds);
    PutWord(reply, 4);
    PutWord(reply, address >> 16);
    PutWord(reply, address & 0xffff);
  }
  return reply;
}

uint32_t ParseIpv4(std::string_view text) {
  const auto parts = Split(text, '.');
  if (parts.size() != 4) return 0;
  uint32_t address = 0;
  for (const std::string_view part : parts) {
    const auto n = ParseInt(part);
    if (!n.ok() || *n < 0 || *n > 255) return 0;
    address = (address << 8) | static_cast<uint32_t>(*n);
  }
  return address;
}

void DnsZone::Add(const std::string& name, uint32_t address, Duration now) {
  const std::lock_guard lock(mutex_);
  records_[ToLower(name)].emplace(address, now + times_.publication);
}

void DnsZone::Remove(const std::string& name, uint32_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(ToLower(name));
  if (found == records_.end()) return;
  found->second.erase(address);
  if (found->second.empty()) records_.erase(found);
}

DnsAnswer DnsZone::Find(const std::string& name, Duration now) {
  const std::lock_guard lock(mutex_);
  const auto denied = denied_.find(name);
  if (denied != denied_.end()) {
    if (now < denied->second) return {};
    denied_.erase(denied);
  }
  DnsAnswer answer;
  if (const auto found = records_.find(name); found != records_.end()) {
    for (const auto& [address, published_at] : found->second) {
      if (published_at <= now) answer.addresses.push_back(address);
    }
  }
  answer.exists = !answer.addresses.empty();
  if (answer.exists || times_.denial == Duration::zero()) return answer;
  if (denied_.size() >= kMostDenied) {  // whoever asks for random names does not fill the memory
    std::erase_if(denied_, [&](const auto& one) { return one.second <= now; });
    if (denied_.size() >= kMostDenied) denied_.clear();
  }
  denied_[name] = now + times_.denial;
  return answer;
}

std::optional<Duration> DnsZone::PublishedAt(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(ToLower(name));
  if (found == records_.end() || found->second.empty()) return std::nullopt;
  return std::min_element(found->second.begin(), found->second.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->second;
}

size_t DnsZone::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

std::vector<std::string> PodNames(std::string_view hostname, std::string_view service,
                                  std::string_view ns) {
  const std::string of_service = ToLower(fmt::format("{}.{}.svc.cluster.local", service, ns));
  if (hostname.empty()) return {of_service};
  return {ToLower(hostname) + "." + of_service, of_service};
}

}  // namespace muster::lab
