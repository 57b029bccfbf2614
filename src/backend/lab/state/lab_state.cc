#include "backend/lab/state/lab_state.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend/lab/state/index.h"
#include "backend/lab/state/ops_json.h"
#include "base/strings.h"
#include "world/random.h"

namespace muster::lab {

namespace {

constexpr int kFormatVersion = 1;

// Where the eight GPUs of an HGX board sit on the bus of the servers whose nvidia-smi outputs are
// public; further ones follow on.
constexpr std::string_view kPciBus[] = {"1B", "43", "52", "61", "9D", "C3", "D1", "DF",
                                        "2A", "34", "6C", "7F", "A8", "B5", "E4", "F0"};

std::string MakeUuid(SeededRandom& random) {
  const uint64_t a = random.Next(), b = random.Next();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xffff,
                     b >> 48, b & 0xffffffffffffull);
}

void PinHardware(LabState& state) {
  SeededRandom random(state.seed);
  for (Node& node : state.cluster.nodes) {
    for (Gpu& gpu : node.gpus) {
      gpu.uuid = "GPU-" + MakeUuid(random);
      gpu.pci_bus_id = fmt::format("00000000:{}:00.0",
                                   kPciBus[static_cast<size_t>(gpu.index) % std::size(kPciBus)]);
    }
  }
}

nlohmann::json ToJson(const Fault& fault) {
  nlohmann::json json = {{"kind", fault.kind},
                         {"on", {{"kind", ToString(fault.on.kind)}, {"id", fault.on.id}}},
                         {"since", FormatTime(fault.since)}};
  if (!fault.with.empty()) json["with"] = fault.with;
  return json;
}

Result<Fault> FaultFromJson(const LabState& state, const nlohmann::json& json) {
  Fault fault;
  fault.kind = json.at("kind").get<std::string>();
  const FaultKind* kind = FindFaultKind(fault.kind);
  if (kind == nullptr)
    return Fail(Code::kInvalid, fmt::format("unknown fault \"{}\"", Printable(fault.kind)));
  TRY(const SubjectKind on, ParseSubjectKind(json.at("on").at("kind").get<std::string>()));
  fault.on = {on, json.at("on").at("id").get<std::string>()};
  TRY(fault.since, ParseTime(json.at("since").get<std::string>()));
  if (json.contains("with")) fault.with = json.at("with").get<std::map<std::string, double>>();
  const auto possible = PossibleSubjects(state, *kind);
  if (std::find(possible.begin(), possible.end(), fault.on) == possible.end()) {
    return Fail(Code::kInvalid, fmt::format("fault {} on {}: this lab has no such place for it",
                                            fault.kind, Printable(fault.on.ToString())));
  }
  for (const auto& [name, value] : fault.with) {
    if (!kind->defaults.contains(name)) {
      return Fail(Code::kInvalid,
                  fmt::format("fault {} has no setting \"{}\"", fault.kind, Printable(name)));
    }
  }
  return fault;
}

Result<LabState> FromJson(const nlohmann::json& json) {
  if (const int version = json.at("version").get<int>(); version != kFormatVersion) {
    return Fail(Code::kInvalid, fmt::format("format version {} is not known, expected {}", version,
                                            kFormatVersion));
  }
  TRY(const ClusterSpec spec, ParseClusterSpec(json.at("spec").get<std::string>()));
  TRY(const TimePoint created, ParseTime(json.at("created").get<std::string>()));
  LabState state = MakeLab(spec, json.at("seed").get<uint64_t>(), created);
  for (const auto& fault : json.at("faults")) {
    TRY(Fault read, FaultFromJson(state, fault));
    state.faults.push_back(std::move(read));
  }
  if (json.contains("ops")) TRY_VOID(OpsFromJson(json.at("ops"), state));
  return state;
}

}  // namespace

std::shared_ptr<const LabIndex> BuildIndex(const Cluster& cluster) {
  auto index = std::make_shared<LabIndex>();
  int lid = 0;
  for (const Switch& s : cluster.switches) index->lid_of_device[s.name] = ++lid;
  for (const Node& node : cluster.nodes) {
    for (const Nic& nic : node.nics)
      index->lid_of_device[fmt::format("{}/{}", node.name, nic.device)] = ++lid;
  }
  for (size_t i = 0; i < cluster.links.size(); ++i) {
    index->link_of_port[cluster.links[i].a.ToString()] = i;
    index->link_of_port[cluster.links[i].b.ToString()] = i;
    index->link_subjects.push_back(cluster.links[i].Id());
  }
  return index;
}

std::shared_ptr<const LabIndex> IndexOf(const LabState& state) {
  return state.index != nullptr ? state.index : BuildIndex(state.cluster);
}

const Fault* LabState::Find(std::string_view kind, const Subject& on) const {
  const auto it = std::find_if(faults.begin(), faults.end(),
                               [&](const Fault& f) { return f.kind == kind && f.on == on; });
  return it == faults.end() ? nullptr : &*it;
}

const Fault* LabState::FindAny(std::string_view kind) const {
  const auto it =
      std::find_if(faults.begin(), faults.end(), [&](const Fault& f) { return f.kind == kind; });
  return it == faults.end() ? nullptr : &*it;
}

std::vector<std::string> LabBudgets() { return {"power", "cooling", "weight"}; }

std::vector<std::string> LabPdus(const LabState& state) {
  std::vector<std::string> pdus;
  for (size_t r = 0; r < state.cluster.racks.size(); ++r)
    pdus.push_back(fmt::format("pdu{:02}", r));
  return pdus;
}

LabState MakeLab(const ClusterSpec& spec, uint64_t seed, TimePoint now) {
  LabState state;
  state.spec = spec;
  state.cluster = BuildCluster(spec);
  state.seed = seed;
  state.created = std::chrono::floor<std::chrono::milliseconds>(now);  // as lab.json keeps it
  PinHardware(state);
  state.index = BuildIndex(state.cluster);
  return state;
}

Result<LabState> LoadLab(Files& files, const std::string& folder) {
  TRY(const std::string text, files.Read(folder + "/lab.json", kMaxLabBytes));
  return ParseLab(text, folder);
}

Result<LabState> ParseLab(const std::string& text, const std::string& folder) {
  const std::string path = folder + "/lab.json";
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(Code::kParse, fmt::format("{}: not a JSON document", path));
  try {
    auto state = FromJson(json).Context(fmt::format("reading {}", path));
    if (state.ok()) state->folder = folder;
    return state;
  } catch (const nlohmann::json::exception& e) {
    return Fail(Code::kParse, fmt::format("{}: {}", path, e.what()));
  }
}

Status SaveLab(Files& files, const LabState& state) {
  nlohmann::json json = {{"version", kFormatVersion},
                         {"spec", FormatClusterSpec(state.spec)},
                         {"seed", state.seed},
                         {"created", FormatTime(state.created)},
                         {"faults", nlohmann::json::array()}};
  for (const Fault& fault : state.faults) json["faults"].push_back(ToJson(fault));
  if (nlohmann::json ops = OpsToJson(state); !ops.empty()) json["ops"] = std::move(ops);
  TRY_VOID(files.MakeFolders(state.folder));
  return files.WriteAtomic(state.folder + "/lab.json", json.dump(2) + "\n");
}

}  // namespace muster::lab
