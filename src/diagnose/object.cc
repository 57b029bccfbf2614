#include "diagnose/object.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/strings.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kPod = "pod", kNode = "node", kServer = "server",
                           kBatchJob = "batch job", kWorkload = "workload",
                           kNeighbour = "neighbour", kPort = "port", kDisk = "disk";

// "ml/train-0" from `at` on.
std::string_view NameAt(std::string_view line, size_t at) {
  size_t end = at;
  while (end < line.size() && (IsNameChar(line[end]) || line[end] == '/')) ++end;
  while (end > at && (line[end - 1] == '.' || line[end - 1] == '/')) --end;
  return line.substr(at, end - at);
}

// "ml/train-0" or "train-0".
Object Scoped(std::string_view kind, std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {std::string(kind), "", std::string(name)};
  return {std::string(kind), std::string(name.substr(0, slash)),
          std::string(name.substr(slash + 1))};
}

// A row of `kubectl get events`, with its namespace or without: "ml 9m Warning Failed pod/a ...".
Object EventRow(std::string_view line) {
  const auto words = SplitBlank(line.substr(0, 400));
  constexpr size_t kMostBefore = 5;  // "ml", "9m", "(x3 over 12m)"
  for (size_t type = 1; type <= kMostBefore && type + 2 < words.size(); ++type) {
    if (words[type] != "Normal" && words[type] != "Warning") continue;
    const std::string_view object = words[type + 2];
    const size_t slash = object.find('/');
    if (slash == 0 || slash == std::string_view::npos || slash + 1 == object.size()) return {};
    const bool scoped = type > 1 && (std::isdigit(static_cast<unsigned char>(words[1][0])) != 0 ||
                                     words[1][0] == '<');
    return {std::string(object.substr(0, slash)), scoped ? std::string(words[0]) : "",
            std::string(object.substr(slash + 1))};
  }
  return {};
}

struct Mark {
  std::string_view before, kind;
};
// What stands right before the name of a pod, a node, a server of files, a router's neighbour, a
// switch's port, an NVMe controller.
constexpr Mark kMarks[] = {{"pod=\"", kPod},
                           {"pod \"", kPod},
                           {"pod \\\"", kPod},
                           {"Pod \"", kPod},
                           {"pods \"", kPod},
                           {"Successfully assigned ", kPod},
                           {"node=\"", kNode},
                           {"nfs: server ", kServer},
                           {"ceph: ", kServer},
                           {" neighbor ", kNeighbour},
                           {"ADJCHANGE: peer ", kNeighbour},
                           {"Line protocol on Interface ", kPort},
                           {"updatePortOperStatus: Port ", kPort},
                           {": nvme nvme", kDisk},
                           {"] nvme nvme", kDisk}};

Object Marked(std::string_view line) {
  for (const Mark& mark : kMarks) {
    const size_t at = line.find(mark.before);
    if (at == std::string_view::npos) continue;
    const std::string_view name = NameAt(line, at + mark.before.size());
    if (!name.empty()) return Scoped(mark.kind, name);
  }
  return {};
}

// "Node gpu-7 status is now: NodeReady", "Nodes gpu02 not responding": what follows the name says
// that it is one.
Object NodeNamed(std::string_view line) {
  for (const std::string_view says :
       {" status is now: ", " not responding", " now responding", " returned to service"}) {
    const size_t end = line.find(says);
    if (end == std::string_view::npos) continue;
    const size_t begin = line.rfind(' ', end - (end > 0 ? 1 : 0)) + 1;
    if (begin >= end) continue;
    const std::string_view before = Trim(line.substr(0, begin));
    const std::string_view name = line.substr(begin, end - begin);
    if (name != "is" && (EndsWith(before, "ode") || EndsWith(before, "odes")))
      return {std::string(kNode), "", std::string(name)};
  }
  return {};
}

// "Lustre: fs-OST0001-osc-ffff8: Connection to ... was lost": the same connection comes back under
// the same name, whatever it says of the server.
Object LustreConnection(std::string_view line) {
  const size_t end = line.find(": Connection ");
  if (end == std::string_view::npos || end == 0 || !Contains(line, "Lustre")) return {};
  const size_t blank = line.rfind(' ', end - 1);
  const size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
  return {std::string(kServer), "", std::string(line.substr(begin, end - begin))};
}

// "job 4711" of Slurm's own tools.
Object BatchJob(std::string_view line) {
  for (const std::string_view mark : {"job ", "allocation ", "JobId=", "StepId="}) {
    for (size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 1)) {
      const size_t begin = at + mark.size();
      const size_t end = std::min(line.find_first_not_of("0123456789", begin), line.size());
      if (end > begin)
        return {std::string(kBatchJob), "", std::string(line.substr(begin, end - begin))};
    }
  }
  return {};
}

bool SameScope(const Object& a, const Object& b) {
  return a.scope.empty() || b.scope.empty() || a.scope == b.scope;
}

size_t IndentOf(std::string_view line) {
  const size_t first = line.find_first_not_of(' ');
  return first == std::string_view::npos ? line.size() : first;
}

std::string Value(std::string_view text) {
  text = Trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

}  // namespace

Object ObjectIn(std::string_view line) {
  for (const auto read : {EventRow, Marked, LustreConnection, NodeNamed, BatchJob})
    if (Object found = read(line); found.known()) return found;
  return {};
}

std::string_view StemOf(const Object& owner) {
  std::string_view name = owner.name;
  constexpr size_t kUuid = 36;
  if (owner.kind == kWorkload) {
    name = name.substr(0, name.rfind('-'));
    if (const size_t kind = name.find('-'); kind != std::string_view::npos)
      name.remove_prefix(kind + 1);
  } else if (name.size() > kUuid + 1 && name[name.size() - kUuid - 1] == '-' &&
             std::count(name.end() - kUuid, name.end(), '-') == 4) {
    name.remove_suffix(kUuid + 1);
  }
  return name;
}

bool Concerns(const Object& heal, const Object& complaint) {
  if (!SameScope(heal, complaint)) return false;
  const bool kinds = heal.kind.empty() || complaint.kind.empty() || heal.kind == complaint.kind;
  if (kinds && heal.name == complaint.name) return true;
  const bool of_pod = heal.kind == kPod || heal.kind.empty();
  const bool alone = complaint.kind == kPod || complaint.kind == kNode ||
                     complaint.kind == kServer || complaint.kind == kBatchJob;
  if (!of_pod || alone) return false;
  const std::string_view stem = StemOf(complaint);
  return heal.name.size() > stem.size() + 1 && heal.name.starts_with(stem) &&
         heal.name[stem.size()] == '-';
}

void ObjectAbove::Line(std::string_view line) {
  if (line.empty()) return;
  const size_t indent = IndentOf(line);
  if (indent == 0) Described(line);
  if (indent < line.size()) Metadata(line.substr(indent), indent);
}

// A pod and a node are described under "Name:"; what follows tells them apart.
void ObjectAbove::Described(std::string_view line) {
  if (const auto name = After(line, "Name:")) {
    name_ = Value(*name);
    return;
  }
  if (name_.empty()) return;
  if (const auto scope = After(line, "Namespace:")) now_ = {"", Value(*scope), name_};
  if (line.starts_with("Roles:")) now_ = {std::string(kNode), "", name_};
  name_.clear();
}

void ObjectAbove::Metadata(std::string_view text, size_t indent) {
  if (text == "metadata:") {
    in_metadata_ = true;
    metadata_ = indent;
    fields_ = 0;
    return;
  }
  if (const auto kind = After(text.starts_with("- ") ? text.substr(2) : text, "kind: "))
    if (!in_metadata_) kind_ = ToLower(Value(*kind));
  if (!in_metadata_) return;
  if (indent <= metadata_) {
    in_metadata_ = false;
    if (const auto kind = After(text, "kind: ")) kind_ = ToLower(Value(*kind));
    return;
  }
  if (fields_ == 0) fields_ = indent;
  if (indent != fields_) return;
  if (const auto name = After(text, "name: ")) now_ = {kind_, "", Value(*name)};
  if (const auto scope = After(text, "namespace: "); scope && now_.known())
    now_.scope = Value(*scope);
}

}  // namespace muster::diagnose
