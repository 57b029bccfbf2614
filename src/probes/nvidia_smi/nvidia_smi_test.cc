// The shapes are those of public samples of DTD v11 (driver 515), v12 (535, 570) and v13 (590),
// written anew and short; the lab's own full-size documents are read back in backend/lab/nvidia.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/strings.h"
#include "probes/nvidia_smi/csv.h"
#include "probes/nvidia_smi/field.h"
#include "probes/nvidia_smi/nvlink.h"
#include "probes/nvidia_smi/probes.h"
#include "probes/nvidia_smi/query.h"
#include "probes/nvidia_smi/topo.h"

namespace muster::nvidia_smi {
namespace {

using Facts = std::map<std::pair<std::string, std::string>, std::string>;

Reading Of(std::string text) {
  Reading reading;
  reading.probe = "nvidia_smi.query";
  reading.host = "n1";
  reading.text = std::move(text);
  return reading;
}
Facts Read(Observations (*parse)(const Reading&), const std::string& text) {
  Facts facts;
  for (const auto& o : parse(Of(text)))
    facts[{o.subject.id, o.fact}] =
        o.value() != nullptr ? FormatValue(*o.value(), Unit::kNone) : "?";
  return facts;
}
std::string At(const Facts& facts, const std::string& subject, const std::string& fact) {
  const auto found = facts.find({subject, fact});
  return found == facts.end() ? "nothing" : found->second;
}
// Every value of the damaged text must be a value of the intact one.
void ExpectNoNewKnowledge(Observations (*parse)(const Reading&), const Facts& intact,
                          const std::string& damaged) {
  for (const auto& [key, value] : Read(parse, damaged)) {
    if (value == "?") continue;
    const auto found = intact.find(key);
    ASSERT_TRUE(found != intact.end() && found->second == value)
        << key.first << " " << key.second << " = " << value << "\n"
        << damaged;
  }
}
std::string WithoutLine(const std::string& text, size_t drop, std::string_view instead = "") {
  std::string out;
  const auto lines = Lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i != drop)
      out += std::string(lines[i]) + "\n";
    else if (!instead.empty())
      out += std::string(instead) + "\n";
  }
  return out;
}

struct Shape {
  std::string
      dtd = "v12",
      reasons = "clocks_event_reason",
      sram =
          "<sram_uncorrectable_parity>0</sram_uncorrectable_parity>\n<sram_uncorrectable_secded>0</"
          "sram_uncorrectable_secded>";
  std::string rows =
      "<remapped_rows>\n<remapped_row_pending>No</remapped_row_pending>\n<remapped_row_failure>No</"
      "remapped_row_failure>\n</remapped_rows>";
};
// `sick` has an uncorrected error, a pending remap, a thermal slowdown, MIG and half its lanes.
std::string Gpu(int index, bool sick, const Shape& shape = {}) {
  std::string rows = shape.rows;
  if (sick)
    if (const size_t at = rows.find(">No<"); at != std::string::npos) rows.replace(at, 4, ">Yes<");
  return fmt::format(R"(<gpu id="00000000:{0:X}B:00.0">
<product_name>NVIDIA H100 80GB HBM3</product_name>
<persistence_mode>Enabled</persistence_mode>
<mig_mode>
<current_mig>{1}</current_mig>
</mig_mode>
<mig_devices>
None
</mig_devices>
<serial>165000000000{0}</serial>
<uuid>GPU-00000000-0000-0000-0000-00000000000{0}</uuid>
<pci>
<pci_bus_id>00000000:{0:X}B:00.0</pci_bus_id>
<pci_gpu_link_info>
<pcie_gen>
<max_link_gen>5</max_link_gen>
<current_link_gen>1</current_link_gen>
</pcie_gen>
<link_widths>
<max_link_width>16x</max_link_width>
<current_link_width>{2}x</current_link_width>
</link_widths>
</pci_gpu_link_info>
</pci>
<performance_state>P0</performance_state>
<{3}s>
<{3}_hw_thermal_slowdown>{4}</{3}_hw_thermal_slowdown>
<{3}_hw_power_brake_slowdown>Not Active</{3}_hw_power_brake_slowdown>
<{3}_sw_thermal_slowdown>Not Active</{3}_sw_thermal_slowdown>
</{3}s>
<ecc_errors>
<volatile>
{5}
<dram_uncorrectable>{6}</dram_uncorrectable>
</volatile>
</ecc_errors>
{7}
<temperature>
<gpu_temp>3{0} C</gpu_temp>
</temperature>
<fabric>
<state>Completed</state>
<status>Success</status>
</fabric>
</gpu>
)",
                     index, sick ? "Enabled" : "Disabled", sick ? 8 : 16, shape.reasons,
                     sick ? "Active" : "Not Active", shape.sram, sick ? 2 : 0, rows);
}
std::string Log(const std::string& gpus, int attached, const Shape& shape = {}) {
  return fmt::format(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "
      "\"nvsmi_device_{}.dtd\">\n<nvidia_smi_log>\n<driver_version>570.211.01</driver_version>\n"
      "<cuda_version>12.8</cuda_version>\n<attached_gpus>{}</attached_gpus>\n{}</nvidia_smi_log>\n",
      shape.dtd, attached, gpus);
}

TEST(QueryTest, EveryDtdSaysTheSame) {
  const Shape v11{"v11", "clocks_throttle_reason", "<sram_uncorrectable>0</sram_uncorrectable>",
                  Shape().rows};
  const Shape v13{"v13", "clocks_event_reason", Shape().sram, Shape().rows};
  const auto wanted = Read(ParseQuery, Log(Gpu(0, false) + Gpu(1, true), 2));
  for (const Shape& shape : {v11, v13})
    EXPECT_EQ(Read(ParseQuery, Log(Gpu(0, false, shape) + Gpu(1, true, shape), 2, shape)), wanted);
  EXPECT_EQ(At(wanted, "n1", "gpu.count"), "2");
  EXPECT_EQ(At(wanted, "n1", "node.driver_version"), "570.211.01");
  EXPECT_EQ(At(wanted, "n1/gpu0", "gpu.ecc_uncorrected"), "0");
  EXPECT_EQ(At(wanted, "n1/gpu0", "gpu.throttle_thermal"), "no");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.ecc_uncorrected"), "2");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.throttle_thermal"), "yes");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.remap_pending"), "yes");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.mig_mode"), "Enabled");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.pcie_width"), "8");
  EXPECT_EQ(At(wanted, "n1/gpu1", "gpu.pcie_gen"), "5");
}

TEST(QueryTest, OldDoubleBitTotalsAreUnderstood) {
  Shape old;
  old.sram = "<double_bit>\n<total>3</total>\n</double_bit>";
  EXPECT_EQ(At(Read(ParseQuery, Log(Gpu(0, false, old), 1, old)), "n1/gpu0", "gpu.ecc_uncorrected"),
            "3");
}

TEST(QueryTest, PhraseInPlaceOfAStructIsNoValue) {
  Shape shape;
  shape.rows = "<remapped_rows>N/A</remapped_rows>";
  shape.sram =
      "<sram_uncorrectable_parity>N/A</sram_uncorrectable_parity>\n<sram_uncorrectable_secded>0</"
      "sram_uncorrectable_secded>";
  const auto facts = Read(ParseQuery, Log(Gpu(0, false, shape), 1, shape));
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.remap_pending"), "?");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.remap_failed"), "?");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.ecc_uncorrected"), "?");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.temperature"), "30");
}

TEST(QueryTest, DeprecatedAndUnitlessValuesAreNoValues) {
  std::string text = Log(Gpu(0, false), 1);
  text.replace(text.find("Enabled</persistence"), 7, "Requested functionality has been deprecated");
  text.replace(text.find("30 C"), 4, "30");
  const auto facts = Read(ParseQuery, text);
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.persistence"), "?");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.temperature"), "?");
}

TEST(QueryTest, LostGpuIsListedAndDoesNotAnswer) {
  std::string lost = Gpu(1, false);
  for (std::string_view leaf :
       {"NVIDIA H100 80GB HBM3", "GPU-00000000-0000-0000-0000-000000000001", "31 C", "P0"})
    lost.replace(lost.find(leaf), leaf.size(), "GPU is lost");
  const auto facts = Read(ParseQuery, Log(Gpu(0, false) + lost, 2));
  EXPECT_EQ(At(facts, "n1", "gpu.count"), "1");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.present"), "yes");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.present"), "no");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.model"), "?");
}

TEST(QueryTest, GpuThatCannotBeOpenedKeepsItsIndex) {
  const std::string document = Log(Gpu(0, false) + Gpu(2, false), 3);
  for (std::string_view line :
       {"Unable to determine the device handle for GPU1: 0000:1B:00.0: Unknown Error\n",
        "Unable to determine the device handle for GPU 0000:1B:00.0: GPU is lost.  Reboot the "
        "system to recover this GPU\n",
        "Unable to determine the device handle for GPU0000:1B:00.0: Unknown Error\n"}) {
    const auto facts = Read(ParseQuery, std::string(line) + document);
    EXPECT_EQ(At(facts, "n1", "gpu.count"), "2") << line;
    EXPECT_EQ(At(facts, "n1/gpu0", "gpu.temperature"), "30") << line;
    EXPECT_EQ(At(facts, "n1/gpu1", "gpu.present"), "no") << line;
    EXPECT_EQ(At(facts, "n1/gpu2", "gpu.temperature"), "32") << line;
  }
}

TEST(QueryTest, ToolThatCannotAnswerNamesTheReason) {
  auto reason = [](const std::string& text) {
    const auto all = ParseQuery(Of(text));
    const auto it =
        std::find_if(all.begin(), all.end(), [](const auto& o) { return o.fact == "gpu.count"; });
    return it == all.end() || it->unobserved() == nullptr
               ? "none"
               : std::string(ToString(it->unobserved()->reason));
  };
  EXPECT_EQ(reason("Failed to initialize NVML: Driver/library version mismatch\nNVML library "
                   "version: 570.211\n"),
            ToString(UnknownReason::kToolFault));
  EXPECT_EQ(
      reason("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
      ToString(UnknownReason::kToolFault));
  EXPECT_EQ(reason("Failed to initialize NVML: Insufficient Permissions\n"),
            ToString(UnknownReason::kNotPermitted));
  EXPECT_EQ(reason("%$#@ 0x00\n"), ToString(UnknownReason::kUnparsable));
  EXPECT_EQ(At(Read(ParseQuery, "No devices were found\n"), "n1", "gpu.count"), "0");
}

TEST(QueryTest, DocumentThatListsAnotherNumberOfGpusIsRefused) {
  for (int attached : {1, 3}) {
    const auto facts = Read(ParseQuery, Log(Gpu(0, false) + Gpu(1, false), attached));
    for (const auto& [key, value] : facts) EXPECT_EQ(value, "?") << key.second;
  }
}

TEST(QueryTest, CutAtAnyByteGivesNothing) {
  const std::string text = Log(Gpu(0, false) + Gpu(1, true), 2);
  const size_t end = text.rfind("</nvidia_smi_log>") + 16;
  for (size_t at = 0; at <= end; ++at)
    for (const auto& [key, value] : Read(ParseQuery, text.substr(0, at)))
      ASSERT_EQ(value, "?") << at << " " << key.second;
}

TEST(QueryTest, LostOrOverwrittenLineTeachesNothingNew) {
  const std::string text = Log(Gpu(0, false) + Gpu(1, true), 2);
  const auto intact = Read(ParseQuery, text);
  for (size_t line = 0; line < Lines(text).size(); ++line) {
    ExpectNoNewKnowledge(ParseQuery, intact, WithoutLine(text, line));
    ExpectNoNewKnowledge(ParseQuery, intact, WithoutLine(text, line, "@@ \x01\xff @@"));
  }
}

constexpr std::string_view kTopo =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tPXB\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tSYS\tPXB\t56-111,168-223\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tPXB\tSYS\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC "
    "Legend:\n\n  NIC0: mlx5_3\n  NIC1: mlx5_10\n\n";

TEST(TopoTest, NumaAndNearestAdapterAreRead) {
  const auto facts = Read(ParseTopo, std::string(kTopo));
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.numa"), "0");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.numa"), "1");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.nearest_hca"), "mlx5_3");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.nearest_hca"), "mlx5_10");
}

TEST(TopoTest, GluedCellsEmptyAffinityBlanksAndDeviceNamesAreRead) {
  std::string glued(kTopo);
  glued.replace(glued.find("SYS\tPXB\t56"), 8, "SYSPXB\t");
  EXPECT_EQ(Read(ParseTopo, glued), Read(ParseTopo, std::string(kTopo)));
  std::string empty(kTopo);
  empty.replace(empty.find("0-55,112-167"), 12, "");
  EXPECT_EQ(Read(ParseTopo, empty), Read(ParseTopo, std::string(kTopo)));
  const auto blanks =
      Read(ParseTopo,
           "        GPU0    GPU1    mlx5_0  CPU Affinity    NUMA Affinity\n"
           "GPU0     X      PHB     NODE    0-11            N/A\n"
           "GPU1    PHB      X      PIX     0-11            0\n\nLegend:\n\n  X = Self\n");
  EXPECT_EQ(At(blanks, "n1/gpu0", "gpu.numa"), "?");
  EXPECT_EQ(At(blanks, "n1/gpu0", "gpu.nearest_hca"), "mlx5_0");
  EXPECT_EQ(At(blanks, "n1/gpu1", "gpu.numa"), "0");
}

TEST(TopoTest, SingleGpuAndMissingAdaptersAreNoTrouble) {
  const auto facts = Read(
      ParseTopo,
      "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-63\t0\t\tN/A\n\nLegend:\n");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.numa"), "0");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.nearest_hca"), "?");
}

TEST(TopoTest, DamageTeachesNothingNew) {
  const std::string text(kTopo);
  const auto intact = Read(ParseTopo, text);
  for (size_t at = 0; at < text.size(); ++at)
    ExpectNoNewKnowledge(ParseTopo, intact, text.substr(0, at));
  for (size_t line = 0; line < Lines(text).size(); ++line) {
    ExpectNoNewKnowledge(ParseTopo, intact, WithoutLine(text, line));
    ExpectNoNewKnowledge(ParseTopo, intact, WithoutLine(text, line, "@@ \x01\xff @@"));
  }
}

constexpr std::string_view kNvlink =
    "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 "
    "GB/s\n\t Link 2: 26.562 GB/s\n"
    "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-b)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t "
    "Link 2: 26.562 GB/s\n";

TEST(NvlinkTest, LinksWithASpeedAreActive) {
  const auto facts = Read(ParseNvlink, std::string(kNvlink));
  EXPECT_EQ(At(facts, "n1/gpu0", "nvlink.active"), "3");
  EXPECT_EQ(At(facts, "n1/gpu1", "nvlink.active"), "2");
}

TEST(NvlinkTest, AllLinksInactiveIsZeroAndALostGpuIsUnknown) {
  const auto facts =
      Read(ParseNvlink,
           std::string(kNvlink) +
               "GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-c)\nNVML: Unable to retrieve NVLink "
               "information as all links are inActive\n"
               "Unable to determine the device handle for GPU3: 0000:61:00.0: GPU is lost\n");
  EXPECT_EQ(At(facts, "n1/gpu1", "nvlink.active"), "2");
  EXPECT_EQ(At(facts, "n1/gpu2", "nvlink.active"), "0");
  EXPECT_EQ(At(facts, "n1/gpu3", "nvlink.active"), "nothing");
}

// The list has no end mark: of a text cut inside its first GPU one learns fewer links than there
// are, never more.
TEST(NvlinkTest, DamageNeverAddsLinks) {
  const std::string text(kNvlink);
  const auto intact = Read(ParseNvlink, text);
  auto never_more = [&](const std::string& damaged) {
    for (const auto& [key, value] : Read(ParseNvlink, damaged)) {
      if (value == "?") continue;
      ASSERT_TRUE(intact.contains(key) && value <= intact.at(key)) << damaged;
      if (key.first == "n1/gpu1") {
        ASSERT_EQ(value, intact.at(key)) << damaged;
      }
    }
  };
  for (size_t at = 0; at < text.size(); ++at) never_more(text.substr(0, at));
  for (size_t line = 0; line < Lines(text).size(); ++line) {
    // Without the header between them the links of two GPUs are one list with every number twice.
    never_more(WithoutLine(text, line));
    never_more(WithoutLine(text, line, "@@ \xff @@"));
  }
}

TEST(CsvTest, KnownColumnsBecomeFacts) {
  const auto facts =
      Read(ParseCsv,
           "index, name, memory.total [MiB], temperature.gpu, "
           "ecc.errors.uncorrected.volatile.total, persistence_mode, driver_version\n"
           "0, NVIDIA H100 80GB HBM3, 81559 MiB, 31, 0, Enabled, 570.211.01\n1, [GPU is lost], "
           "[GPU is lost], [N/A], [N/A], [N/A], 570.211.01\n");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.model"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.temperature"), "31");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.ecc_uncorrected"), "0");
  EXPECT_EQ(At(facts, "n1/gpu0", "gpu.persistence"), "yes");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.model"), "?");
  EXPECT_EQ(At(facts, "n1/gpu1", "gpu.ecc_uncorrected"), "?");
  EXPECT_EQ(At(facts, "n1", "node.driver_version"), "570.211.01");
}

TEST(CsvTest, RowOfAnotherLengthAndCutTextAreRefused) {
  EXPECT_FALSE(ReadCsv("index, name\n0\n").ok());
  EXPECT_FALSE(ReadCsv("index, name\n0, NVIDIA H").ok());
  EXPECT_FALSE(ReadCsv("").ok());
}

TEST(FieldTest, PhrasesAreNoValuesAndNumbersNeedTheirUnits) {
  for (std::string_view phrase : {"", " ", "N/A", "[N/A]", "[Not Supported]", "ERR!",
                                  "[Unknown Error]", "GPU is lost", "[Insufficient Permissions]"})
    EXPECT_TRUE(IsSentinel(phrase)) << phrase;
  EXPECT_FALSE(IsSentinel("0"));
  EXPECT_EQ(NumberWithUnit("34 C", "C"), 34);
  EXPECT_EQ(NumberWithUnit("26.562 GB/s", "GB/s"), 26.562);
  EXPECT_EQ(NumberWithUnit("34", "C"), std::nullopt);
  EXPECT_EQ(NumberWithUnit("34C", "C"), std::nullopt);
  EXPECT_EQ(Count("16x", "x"), 16);
  EXPECT_EQ(Count("-1"), std::nullopt);
  EXPECT_EQ(Count("99999999999999999999"), std::nullopt);
}

TEST(FieldTest, AddressesOfOneSlotAreEqualAndSortAsGpusAreNumbered) {
  EXPECT_EQ(PciKey("00000000:1B:00.0"), PciKey("0000:1b:00.0"));
  EXPECT_EQ(PciKey("1b:00.0"), PciKey("0000:1b:00"));
  EXPECT_LT(*PciKey("00000000:1B:00.0"), *PciKey("00000000:43:00.0"));
  EXPECT_LT(*PciKey("00000000:DF:00.0"), *PciKey("00000001:01:00.0"));
  for (std::string_view bad : {"", "1b", "1b:00.9", "zz:00.0", "0:0:0:0", "000000001:00:00.0"})
    EXPECT_EQ(PciKey(bad), std::nullopt) << bad;
}

RC_GTEST_PROP(NvidiaSmiProperty, AnyBytesAreSurvived, (const std::string& bytes)) {
  for (auto parse : {ParseQuery, ParseTopo, ParseNvlink, ParseCsv}) {
    (void)parse(Of(bytes));
    (void)parse(Of("<nvidia_smi_log>" + bytes));
    (void)parse(Of("GPU 0: x\n" + bytes));
  }
}

TEST(NvidiaSmiProbesTest, EachFactIsSaidEvenOfAnEmptyAnswer) {
  for (const Probe& probe : NvidiaSmiProbes()) {
    const auto all = ParseReading(probe, Of(""));
    for (auto fact : probe.facts)
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const auto& o) {
        return o.fact == fact && o.unobserved() != nullptr;
      })) << fact;
  }
}

}  // namespace
}  // namespace muster::nvidia_smi
