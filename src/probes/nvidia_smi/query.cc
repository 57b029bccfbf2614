#include "probes/nvidia_smi/query.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/strings.h"
#include "probes/nvidia_smi/complaint.h"
#include "probes/nvidia_smi/field.h"

namespace muster::nvidia_smi {
namespace {

constexpr std::array<std::string_view, 18> kFacts = {"gpu.count",
                                                     "gpu.present",
                                                     "gpu.model",
                                                     "gpu.uuid",
                                                     "gpu.serial",
                                                     "gpu.pci_bus_id",
                                                     "gpu.ecc_uncorrected",
                                                     "gpu.remap_pending",
                                                     "gpu.remap_failed",
                                                     "gpu.temperature",
                                                     "gpu.throttle_thermal",
                                                     "gpu.throttle_power_brake",
                                                     "gpu.mig_mode",
                                                     "gpu.persistence",
                                                     "gpu.pcie_gen",
                                                     "gpu.pcie_width",
                                                     "gpu.fabric_state",
                                                     "node.driver_version"};
constexpr std::string_view kCudaFact = "node.cuda_version";

constexpr auto kAllFacts = [] {
  std::array<std::string_view, kFacts.size() + 1> all{};
  std::copy(kFacts.begin(), kFacts.end(), all.begin());
  all.back() = kCudaFact;
  return all;
}();

using Node = pugi::xml_node;

std::string_view Text(Node node) { return Trim(node.child_value()); }

// A leaf that was looked for: where it stands and what it says.
struct Leaf {
  std::string_view name;
  std::string_view text;
  bool found = false;

  Leaf() = default;
  explicit Leaf(Node node) : name(node.name()), text(Text(node)), found(static_cast<bool>(node)) {}
  std::string Excerpt() const { return fmt::format("<{}>{}</{}>", name, text, name); }
};

// Adds the observations of one GPU and remembers whether it answered.
class GpuReader {
 public:
  GpuReader(Subject subject, ObservationBuilder& out) : subject_(std::move(subject)), out_(out) {}

  // True: it answers; false: it is listed and lost; nothing: the document does not say.
  std::optional<bool> Read(Node gpu) {
    Walk(gpu);
    const Leaf* witness = LostWitness();
    const bool lost = witness != nullptr;
    if (lost) {
      out_.Add(subject_, "gpu.present", false, Unit::kNone, witness->Excerpt());
    } else if (IsSentinel(model_.text) || !StartsWith(uuid_.text, "GPU-")) {
      out_.AddUnobserved(subject_, "gpu.present", UnknownReason::kNotObserved,
                         "listed, but without product name and UUID");
    } else {
      out_.Add(subject_, "gpu.present", true, Unit::kNone, uuid_.Excerpt());
    }
    Identity();
    Memory();
    Condition();
    Links();
    if (lost) return false;
    if (IsSentinel(model_.text) || !StartsWith(uuid_.text, "GPU-")) return std::nullopt;
    return true;
  }

 private:
  // Its name or UUID cannot be had, or a sensor says in so many words that the GPU is lost. A
  // sensor error alone is no loss.
  const Leaf* LostWitness() const {
    for (const Leaf* leaf : {&model_, &uuid_})
      if (SaysLost(leaf->text)) return leaf;
    for (const Leaf* leaf : {&temperature_, &state_, &serial_})
      if (leaf->text == "GPU is lost") return leaf;
    return nullptr;
  }

  // One pass over the GPU's direct children; the same names deeper down (MIG devices) are never
  // looked at.
  void Walk(Node gpu) {
    for (Node child = gpu.first_child(); child; child = child.next_sibling()) {
      const std::string_view name = child.name();
      if (name == "product_name")
        model_ = Leaf(child);
      else if (name == "uuid")
        uuid_ = Leaf(child);
      else if (name == "serial")
        serial_ = Leaf(child);
      else if (name == "persistence_mode")
        persistence_ = Leaf(child);
      else if (name == "performance_state")
        state_ = Leaf(child);
      else if (name == "mig_mode")
        mig_ = Leaf(child.child("current_mig"));
      else if (name == "pci")
        WalkPci(child);
      else if (name == "clocks_event_reasons" || name == "clocks_throttle_reasons")
        WalkReasons(child);
      else if (name == "ecc_errors")
        WalkEcc(child.child("volatile"));
      else if (name == "remapped_rows")
        WalkRemap(child);
      else if (name == "temperature")
        temperature_ = Leaf(child.child("gpu_temp"));
      else if (name == "fabric")
        fabric_ = Leaf(child.child("state"));
    }
  }

  void WalkPci(Node pci) {
    bus_ = Leaf(pci.child("pci_bus_id"));
    Node info = pci.child("pci_gpu_link_info");
    generation_ = Leaf(info.child("pcie_gen").child("max_link_gen"));
    width_ = Leaf(info.child("link_widths").child("current_link_width"));
  }

  // v11 says clocks_throttle_reason_x, v12 and later clocks_event_reason_x; the endings stayed.
  void WalkReasons(Node reasons) {
    for (Node child = reasons.first_child(); child; child = child.next_sibling()) {
      const std::string_view name = child.name();
      if (EndsWith(name, "_hw_thermal_slowdown"))
        hardware_thermal_ = Leaf(child);
      else if (EndsWith(name, "_sw_thermal_slowdown"))
        software_thermal_ = Leaf(child);
      else if (EndsWith(name, "_hw_power_brake_slowdown"))
        brake_ = Leaf(child);
    }
  }

  void WalkEcc(Node counts) {
    sram_ = Leaf(counts.child("sram_uncorrectable"));
    sram_parity_ = Leaf(counts.child("sram_uncorrectable_parity"));
    sram_secded_ = Leaf(counts.child("sram_uncorrectable_secded"));
    dram_ = Leaf(counts.child("dram_uncorrectable"));
    double_bit_ = Leaf(counts.child("double_bit").child("total"));
  }

  void WalkRemap(Node rows) {
    remap_pending_ = Leaf(rows.child("remapped_row_pending"));
    remap_failed_ = Leaf(rows.child("remapped_row_failure"));
  }

  void Missing(std::string_view fact, const Leaf& leaf, std::string_view wanted) {
    if (!leaf.found)
      out_.AddUnobserved(subject_, fact, UnknownReason::kNotObserved,
                         fmt::format("the document has no {} for this GPU", wanted));
    else
      out_.AddUnobserved(
          subject_, fact,
          IsSentinel(leaf.text) ? UnknownReason::kNotObserved : UnknownReason::kUnparsable,
          fmt::format("{} says {}", wanted, Shorten(Printable(leaf.text), 60)));
  }

  void AddText(std::string_view fact, const Leaf& leaf, std::string_view wanted) {
    if (!leaf.found || IsSentinel(leaf.text)) return Missing(fact, leaf, wanted);
    out_.Add(subject_, fact, std::string(leaf.text), Unit::kNone, leaf.Excerpt());
  }
  // For modes, where "N/A" is an answer: the GPU has no such thing.
  void AddMode(std::string_view fact, const Leaf& leaf, std::string_view wanted) {
    if (leaf.text == "N/A")
      out_.Add(subject_, fact, std::string("N/A"), Unit::kNone, leaf.Excerpt());
    else
      AddText(fact, leaf, wanted);
  }
  void AddFlag(std::string_view fact, const Leaf& leaf, std::string_view wanted) {
    if (auto flag = Flag(leaf.text))
      out_.Add(subject_, fact, *flag, Unit::kNone, leaf.Excerpt());
    else
      Missing(fact, leaf, wanted);
  }
  void AddCount(std::string_view fact, const Leaf& leaf, std::string_view suffix,
                std::string_view wanted) {
    if (auto count = Count(leaf.text, suffix))
      out_.Add(subject_, fact, *count, Unit::kCount, leaf.Excerpt());
    else
      Missing(fact, leaf, wanted);
  }

  void Identity() {
    AddText("gpu.model", model_, "product_name");
    if (StartsWith(uuid_.text, "GPU-"))
      AddText("gpu.uuid", uuid_, "uuid");
    else
      Missing("gpu.uuid", uuid_, "uuid");
    AddText("gpu.serial", serial_, "serial");
    if (PciKey(bus_.text))
      AddText("gpu.pci_bus_id", bus_, "pci_bus_id");
    else
      Missing("gpu.pci_bus_id", bus_, "pci_bus_id");
  }

  void Memory() {
    AddEcc();
    AddFlag("gpu.remap_pending", remap_pending_, "remapped_row_pending");
    AddFlag("gpu.remap_failed", remap_failed_, "remapped_row_failure");
  }

  // v12 of driver 550 and later split the SRAM count in two; every part must be there, or the sum
  // is not known.
  void AddEcc() {
    if (auto total = Count(double_bit_.text)) {
      out_.Add(subject_, "gpu.ecc_uncorrected", *total, Unit::kCount, double_bit_.Excerpt());
      return;
    }
    const bool split = sram_parity_.found || sram_secded_.found;
    std::array<const Leaf*, 3> parts = {&dram_, split ? &sram_parity_ : &sram_,
                                        split ? &sram_secded_ : nullptr};
    static constexpr std::array<std::string_view, 3> kNames = {
        "dram_uncorrectable", "sram_uncorrectable", "sram_uncorrectable_secded"};
    int64_t sum = 0;
    const Leaf* loudest = &dram_;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == nullptr) continue;
      auto count = Count(parts[i]->text);
      if (!count) return Missing("gpu.ecc_uncorrected", *parts[i], kNames[i]);
      if (*count > 0) loudest = parts[i];
      if (__builtin_add_overflow(sum, *count, &sum))
        return Missing("gpu.ecc_uncorrected", *parts[i], kNames[i]);
    }
    out_.Add(subject_, "gpu.ecc_uncorrected", sum, Unit::kCount, loudest->Excerpt());
  }

  void Condition() {
    if (auto celsius = NumberWithUnit(temperature_.text, "C"))
      out_.Add(subject_, "gpu.temperature", *celsius, Unit::kCelsius, temperature_.Excerpt());
    else
      Missing("gpu.temperature", temperature_, "gpu_temp");
    AddThermal();
    AddFlag("gpu.throttle_power_brake", brake_, "hw_power_brake_slowdown");
    AddMode("gpu.mig_mode", mig_, "current_mig");
    AddFlag("gpu.persistence", persistence_, "persistence_mode");
  }

  // One active reason is enough for true; false needs both to be readable.
  void AddThermal() {
    const auto hardware = Flag(hardware_thermal_.text), software = Flag(software_thermal_.text);
    const Leaf& witness = software.value_or(false) ? software_thermal_ : hardware_thermal_;
    if (hardware.value_or(false) || software.value_or(false))
      out_.Add(subject_, "gpu.throttle_thermal", true, Unit::kNone, witness.Excerpt());
    else if (!hardware)
      Missing("gpu.throttle_thermal", hardware_thermal_, "hw_thermal_slowdown");
    else if (!software)
      Missing("gpu.throttle_thermal", software_thermal_, "sw_thermal_slowdown");
    else
      out_.Add(subject_, "gpu.throttle_thermal", false, Unit::kNone, witness.Excerpt());
  }

  void Links() {
    AddCount("gpu.pcie_gen", generation_, "", "max_link_gen");
    AddCount("gpu.pcie_width", width_, "x", "current_link_width");
    AddMode("gpu.fabric_state", fabric_, "fabric state");
  }

  Subject subject_;
  ObservationBuilder& out_;
  Leaf model_, uuid_, serial_, persistence_, state_, mig_, bus_, generation_, width_;
  Leaf hardware_thermal_, software_thermal_, brake_;
  Leaf sram_, sram_parity_, sram_secded_, dram_, double_bit_, remap_pending_, remap_failed_;
  Leaf temperature_, fabric_;
};

struct Numbering {
  std::vector<int> listed, lost;
};

// Which index each GPU has, given those that the tool could not even open. Nothing when they do not
// fit together.
std::optional<Numbering> Number(const std::vector<Node>& gpus, const std::vector<LostGpu>& lost) {
  Numbering numbering;
  for (const LostGpu& gpu : lost) {
    int index = gpu.index.value_or(0);
    if (!gpu.index) {
      // Only an address: nvidia-smi numbers by address, so its rank is its index.
      for (Node listed : gpus) {
        auto key = PciKey(listed.attribute("id").value());
        if (!key) return std::nullopt;
        if (*key < gpu.pci) ++index;
      }
      for (const LostGpu& other : lost)
        if (other.pci < gpu.pci) ++index;
    }
    numbering.lost.push_back(index);
  }
  for (int next = 0; numbering.listed.size() < gpus.size(); ++next)
    if (std::find(numbering.lost.begin(), numbering.lost.end(), next) == numbering.lost.end())
      numbering.listed.push_back(next);
  return numbering;
}

Observations Nothing(const Reading& reading, UnknownReason reason, std::string_view detail) {
  ObservationBuilder out(reading);
  for (auto fact : kAllFacts) out.AddUnobserved(NodeSubject(reading.host), fact, reason, detail);
  return out.Take();
}

void AddNodeText(ObservationBuilder& out, const Reading& reading, std::string_view fact, Node leaf,
                 std::string_view wanted) {
  const Leaf read(leaf);
  if (!read.found || IsSentinel(read.text))
    out.AddUnobserved(NodeSubject(reading.host), fact, UnknownReason::kNotObserved,
                      fmt::format("the document has no {}", wanted));
  else
    out.Add(NodeSubject(reading.host), fact, std::string(read.text), Unit::kNone, read.Excerpt());
}

Observations Understand(const Reading& reading, Node log, const std::vector<LostGpu>& lost) {
  std::vector<Node> gpus;
  for (Node gpu = log.child("gpu"); gpu; gpu = gpu.next_sibling("gpu")) gpus.push_back(gpu);
  const auto announced = Count(log.child_value("attached_gpus"));
  if (!announced)
    return Nothing(reading, UnknownReason::kUnparsable,
                   "the document does not say how many GPUs are attached");
  const auto listed = static_cast<int64_t>(gpus.size());
  if (*announced != listed && *announced != listed + static_cast<int64_t>(lost.size()))
    return Nothing(reading, UnknownReason::kUnparsable,
                   fmt::format("attached_gpus says {}, {} are listed", *announced, listed));
  const auto numbers = Number(gpus, lost);
  if (!numbers) return Nothing(reading, UnknownReason::kUnparsable, "the GPUs cannot be numbered");

  const std::string_view driver = Text(log.child("driver_version"));
  ObservationBuilder out(reading, driver);
  AddNodeText(out, reading, "node.driver_version", log.child("driver_version"), "driver_version");
  AddNodeText(out, reading, kCudaFact, log.child("cuda_version"), "cuda_version");
  int64_t answering = 0;
  bool all_known = true;
  for (size_t i = 0; i < gpus.size(); ++i) {
    auto answers = GpuReader(GpuSubject(reading.host, numbers->listed[i]), out).Read(gpus[i]);
    all_known = all_known && answers.has_value();
    answering += answers.value_or(false) ? 1 : 0;
  }
  for (size_t i = 0; i < lost.size(); ++i)
    out.Add(GpuSubject(reading.host, numbers->lost[i]), "gpu.present", false, Unit::kNone,
            lost[i].line);
  if (all_known)
    out.Add(NodeSubject(reading.host), "gpu.count", answering, Unit::kCount,
            fmt::format("<attached_gpus>{}</attached_gpus>, {} answer", *announced, answering));
  else
    out.AddUnobserved(NodeSubject(reading.host), "gpu.count", UnknownReason::kNotObserved,
                      "a listed GPU does not say who it is");
  return out.Take();
}

}  // namespace

std::span<const std::string_view> QueryFacts() { return kAllFacts; }

Observations ParseQuery(const Reading& reading) {
  const std::string_view text = reading.text;
  const size_t root = text.find("<nvidia_smi_log");
  if (root == std::string_view::npos) {
    const Complaint complaint = ReadComplaint(text);
    if (complaint.no_devices) {
      Observations seen = Nothing(reading, UnknownReason::kNotObserved, complaint.line);
      ObservationBuilder out(reading);
      out.Add(NodeSubject(reading.host), "gpu.count", int64_t{0}, Unit::kCount, complaint.line);
      std::erase_if(seen, [](const Observation& o) { return o.fact == "gpu.count"; });
      for (auto& observation : out.Take()) seen.push_back(std::move(observation));
      return seen;
    }
    return Nothing(reading, complaint.reason, complaint.line);
  }
  const std::vector<LostGpu> lost = LostGpus(text);
  // The library parses in place, so it gets a copy; entities and comments are of no use here.
  std::string copy(text.substr(root));
  pugi::xml_document document;
  const auto parsed = document.load_buffer_inplace(
      copy.data(), copy.size(), pugi::parse_minimal | pugi::parse_escapes, pugi::encoding_utf8);
  if (!parsed)
    return Nothing(reading, UnknownReason::kUnparsable,
                   fmt::format("no whole XML document: {} at byte {}", parsed.description(),
                               root + static_cast<size_t>(std::max<ptrdiff_t>(parsed.offset, 0))));
  const Node log = document.child("nvidia_smi_log");
  if (!log)
    return Nothing(reading, UnknownReason::kUnparsable, "the document is not nvidia_smi_log");
  return Understand(reading, log, lost);
}

}  // namespace muster::nvidia_smi
