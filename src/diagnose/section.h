// A piece of one file that is the output of one tool: found by its first line, wherever in a pasted
// text it stands, read as a whole once it ends. Line logs have no sections; their lines are matched
// one by one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/fact.h"

namespace muster::diagnose {

struct Section {
  std::string file;
  size_t first_line = 0;
  std::string text;
  std::string host;  // of the last prompt or heading before it, where one names it
  bool cut = false;  // the stream ended inside its last line, or it was longer than kMostBytes
  std::vector<size_t> numbers = {};  // of its lines, where others stand between them
  static constexpr size_t kMostBytes = 8u << 20;

  // One line more, with its number where lines of others stand between.
  void Add(std::string_view line, size_t number);
  // The place of the line that holds `offset` of text.
  Place At(size_t offset) const;
  // The place of the first line with `part`; the first line when there is none.
  Place Where(std::string_view part) const;
  // How many lines begin so behind their indentation: headings of devices, whatever their form.
  size_t LinesThatBegin(std::string_view with) const;
  Fact Make(std::string id, Attributes attrs, Place at, std::string_view line) const;
};

struct SectionKind {
  std::string_view name;                   // "ibstat", for the list of what was read
  std::string_view anchor;                 // in lower case, in the first line
  bool (*begins)(std::string_view line);   // is it really the first line?
  bool (*belongs)(std::string_view line);  // is this line still part of it?
  void (*read)(const Section&, FactStore&);
  bool table = false;  // the first line names columns: rows above it are out of place
  bool proves = true;  // in order it says how something went, not only what there is
  // Does nothing follow? Where others' lines part an output that is not whole, it goes on in the
  // next section of its name that `resumes`. None: a line of others ends it.
  bool (*whole)(std::string_view text) = nullptr;
  bool resumes = false;
  // May `next` go on with an output of this kind that was parted?
  bool GoesOnIn(const SectionKind& next) const { return next.resumes && next.name == name; }
};

std::span<const SectionKind> HcaSections();         // ibstat, ibstatus, ibv_devinfo, rdma link
std::span<const SectionKind> LinkSections();        // iblinkinfo
std::span<const SectionKind> PortSections();        // smpquery portinfo, ibportstate, mlxlink
std::span<const SectionKind> CounterSections();     // ibqueryerrors, perfquery, ethtool -S
std::span<const SectionKind> SmiSections();         // nvidia-smi -q
std::span<const SectionKind> SmiTableSections();    // nvidia-smi's table and csv
std::span<const SectionKind> NvlinkSections();      // nvidia-smi topo -m, nvlink
std::span<const SectionKind> DcgmSections();        // dcgmi diag
std::span<const SectionKind> PciSections();         // lspci
std::span<const SectionKind> SchedulerSections();   // kubectl tables, scontrol, sinfo, squeue
std::span<const SectionKind> ObjectSections();      // kubectl get of other objects
std::span<const SectionKind> MeasureSections();     // Prometheus text
std::span<const SectionKind> CollectiveSections();  // nccl-tests, whole and as rows alone
std::span<const SectionKind> PeerTestSections();    // p2pBandwidthLatencyTest
std::span<const SectionKind> BandwidthSections();   // nvbandwidth
std::span<const SectionKind> TopologySections();    // ibnetdiscover
std::span<const SectionKind> BmcSections();         // records of sensors
std::span<const SectionKind> CompletionSections();  // mlx5's dump of a failed completion
std::span<const SectionKind> ServiceSections();     // systemctl status
std::span<const SectionKind> ReportSections();      // gpu_burn, ds_report
std::span<const SectionKind> HostSections();        // df, free, numactl --hardware, chronyc sources
std::span<const SectionKind> DeviceSections();      // ethtool of an interface, rocm-smi, lfs df
std::span<const SectionKind> FaultSections();       // rocm-smi's RAS blocks, ip -s link, topo -p2p

// An indented line, or one without text: most tools print what belongs to a heading so.
bool Indented(std::string_view line);

// Documents in JSON (any tool's) and in XML (nvidia-smi -q -x). False when the text is no such
// document; a document that is cut says so as "damage".
bool ReadJsonDocument(const Section&, FactStore&, class HangTable&);
bool ReadXmlDocument(const Section&, FactStore&);
// A flight recorder's dump, as pickled by PyTorch. Only opcodes that build plain values are
// understood; nothing is ever executed.
bool ReadPickleDump(const Section&, FactStore&, class HangTable&);

// "damage": what was to be read and could not be.
void AddDamage(const Section&, FactStore&, std::string_view what);

}  // namespace muster::diagnose
