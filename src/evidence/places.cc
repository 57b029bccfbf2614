#include "evidence/places.h"

namespace muster {

std::pair<std::string_view, std::string_view> EndsOf(const Subject& subject) {
  const std::string_view id = subject.id;
  const size_t at = id.find("--");
  if (at == std::string_view::npos) return {id, {}};
  return {id.substr(0, at), id.substr(at + 2)};
}

std::string_view WithoutLast(std::string_view path) {
  const size_t at = path.rfind('/');
  return at == std::string_view::npos ? path : path.substr(0, at);
}
std::string_view FirstPart(std::string_view path) { return path.substr(0, path.find('/')); }

bool IsShared(const Subject& s) {
  return s.kind == SubjectKind::kSite || s.kind == SubjectKind::kFabric ||
         s.kind == SubjectKind::kScope || s.kind == SubjectKind::kGang ||
         s.kind == SubjectKind::kEndpoint;
}

std::vector<std::string_view> DevicesOfEnds(std::string_view id) {
  const size_t at = id.find("--");
  if (at == std::string_view::npos) return {FirstPart(id)};
  return {FirstPart(id.substr(0, at)), FirstPart(id.substr(at + 2))};
}

std::vector<std::string_view> DevicesOf(const Subject& s) {
  switch (s.kind) {
    case SubjectKind::kLink:
    case SubjectKind::kPair:
      return DevicesOfEnds(s.id);
    case SubjectKind::kNode:
    case SubjectKind::kSwitch:
    case SubjectKind::kGpu:
    case SubjectKind::kHca:
    case SubjectKind::kPort:
    case SubjectKind::kRank:
      return {FirstPart(s.id)};
    default:
      return {};
  }
}

PortLinks::PortLinks(const Cluster& cluster) {
  for (const Link& link : cluster.links) {
    const Subject id = link.Id();
    link_of_port_.emplace(link.a.ToString(), id.id);
    link_of_port_.emplace(link.b.ToString(), id.id);
  }
}

const std::string* PortLinks::Find(const std::string& port) const {
  const auto it = link_of_port_.find(port);
  return it == link_of_port_.end() ? nullptr : &it->second;
}

std::string PortLinks::Of(const Subject& subject) const {
  if (subject.kind == SubjectKind::kLink) return subject.id;
  const std::string* link = Find(subject.id);
  return link == nullptr ? subject.id : *link;
}

}  // namespace muster
