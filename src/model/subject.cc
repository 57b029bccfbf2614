#include "model/subject.h"

#include <array>

#include <fmt/format.h>

namespace muster {

namespace {
constexpr std::array<std::string_view, 16> kKinds = {
    "site", "budget", "pdu",  "fabric", "switch", "port", "link", "node",
    "gpu",  "hca",    "rail", "pair",   "scope",  "gang", "rank", "endpoint"};

Subject Both(SubjectKind kind, std::string_view a, std::string_view b) {
  return {kind, a < b ? fmt::format("{}--{}", a, b) : fmt::format("{}--{}", b, a)};
}
}  // namespace

std::string_view ToString(SubjectKind kind) { return kKinds.at(static_cast<size_t>(kind)); }

Result<SubjectKind> ParseSubjectKind(std::string_view text) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (kKinds[i] == text) return static_cast<SubjectKind>(i);
  }
  return Fail(Code::kInvalid, fmt::format("unknown subject kind \"{}\", expected one of {}", text,
                                          fmt::join(kKinds, ", ")));
}

std::string Subject::ToString() const { return fmt::format("{} {}", muster::ToString(kind), id); }

Subject SiteSubject(std::string_view site) { return {SubjectKind::kSite, std::string(site)}; }
Subject NodeSubject(std::string_view node) { return {SubjectKind::kNode, std::string(node)}; }
Subject GpuSubject(std::string_view node, int index) {
  return {SubjectKind::kGpu, fmt::format("{}/gpu{}", node, index)};
}
Subject HcaSubject(std::string_view node, std::string_view device) {
  return {SubjectKind::kHca, fmt::format("{}/{}", node, device)};
}
Subject PortSubject(std::string_view device, int port) {
  return {SubjectKind::kPort, fmt::format("{}/{}", device, port)};
}
Subject LinkSubject(std::string_view a, std::string_view b) {
  return Both(SubjectKind::kLink, a, b);
}
Subject PairSubject(std::string_view a, std::string_view b) {
  return Both(SubjectKind::kPair, a, b);
}
Subject RailSubject(int rail) { return {SubjectKind::kRail, fmt::format("rail{}", rail)}; }

}  // namespace muster
