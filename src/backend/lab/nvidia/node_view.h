// Everything that is so of one node at one moment, asked once per tool call. Private to the room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/lab/state/tool.h"

namespace muster::lab {

struct NodeView {
  const LabState& state;
  const Node& node;
  TimePoint now;  // the lab's clock
  NodeTruth truth;
  std::vector<GpuTruth> gpus;  // by index, those that are missing too

  TimePoint NodeTime() const { return now + truth.clock_offset; }
  // GPUs that the driver can open, and those it lists: a lost one is listed and cannot be opened.
  size_t Listed() const;
};
NodeView LookAt(const LabState& state, const Node& node, TimePoint now);

// "Fri Aug  4 11:44:30 2023", as asctime writes it, in UTC.
std::string CTime(TimePoint t);
// "0000:1b:00.0" of "00000000:1B:00.0", as the kernel writes it; without the function when `slot`.
std::string KernelAddress(std::string_view pci_bus_id, bool slot);
// "1b:00.0"
std::string ShortAddress(std::string_view pci_bus_id);

// The renderers, one per sub-command; each answers for the whole call.
CommandResult SmiXml(const NodeView& view);     // -q -x
CommandResult SmiText(const NodeView& view);    // -q
CommandResult SmiTable(const NodeView& view);   // no arguments
CommandResult SmiList(const NodeView& view);    // -L
CommandResult SmiTopo(const NodeView& view);    // topo -m
CommandResult SmiNvlink(const NodeView& view);  // nvlink -s
CommandResult SmiCsv(const NodeView& view, std::string_view columns,
                     std::string_view format);  // --query-gpu=
CommandResult RunDcgmi(const ToolCall& call);
CommandResult RunDmesg(const ToolCall& call);
CommandResult RunJournalctl(const ToolCall& call);

// What nvidia-smi says before anything else of GPUs that it cannot open: one line each.
std::string LostLines(const NodeView& view);

}  // namespace muster::lab
