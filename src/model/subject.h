// What a statement is about. A subject is a kind and a path: gpu "node-07/gpu3", hca
// "node-07/mlx5_4", port "leaf00/5", link "leaf00/5--spine00/1". The same text is used in verdicts,
// reports, flags and suspects.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

enum class SubjectKind {
  kSite,
  kBudget,
  kPdu,
  kFabric,
  kSwitch,
  kPort,
  kLink,
  kNode,
  kGpu,
  kHca,
  kRail,
  kPair,
  kScope,
  kGang,
  kRank,
  kEndpoint,
};
std::string_view ToString(SubjectKind kind);
Result<SubjectKind> ParseSubjectKind(std::string_view text);

struct Subject {
  SubjectKind kind = SubjectKind::kSite;
  std::string id;

  // "gpu node-07/gpu3"
  std::string ToString() const;
  // The host part of a node, gpu, hca or rank: what stands before the first '/'.
  std::string_view Host() const { return std::string_view(id).substr(0, id.find('/')); }
  auto operator<=>(const Subject&) const = default;
};

Subject SiteSubject(std::string_view site);
Subject NodeSubject(std::string_view node);
Subject GpuSubject(std::string_view node, int index);                // node/gpu3
Subject HcaSubject(std::string_view node, std::string_view device);  // node/mlx5_4
Subject PortSubject(std::string_view device, int port);              // leaf00/5, node-07/mlx5_4/1
// Ends in canonical order (the smaller text first), so both ends name one link.
Subject LinkSubject(std::string_view end_a, std::string_view end_b);
Subject PairSubject(std::string_view node_a, std::string_view node_b);  // canonical order, "a--b"
Subject RailSubject(int rail);                                          // rail3

}  // namespace muster

template <>
struct std::hash<muster::Subject> {
  size_t operator()(const muster::Subject& s) const {
    return std::hash<std::string>{}(s.id) * 31 + static_cast<size_t>(s.kind);
  }
};
