// What the parsers of this folder share: lines that are whole, transcripts of several commands in
// one reading, the names of devices as the fabric's node descriptions give them, and the nominal
// rate of a lane.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::infiniband {

// The id of the one subject of kind fabric.
inline constexpr std::string_view kFabricId = "fabric";

// Lines of a text, without a last one that has no end of line: a cut line may have lost digits and
// is no evidence.
std::vector<std::string_view> WholeLines(std::string_view text);

// One command of a transcript, which is written as "$ command", its output, and "rc=N".
struct Block {
  std::string_view command;  // empty for text before the first "$ "
  std::string_view text;
  std::optional<int> exit_code;  // nothing: the block was cut, or written by hand
};
// Text without any "$ " line is one block without a command. `whole_exit_code` is that block's exit
// code.
std::vector<Block> Blocks(std::string_view text, int whole_exit_code);
std::string RenderBlock(std::string_view command, std::string_view out, int exit_code);
// Whether the first word of the block's command is this program; a block without a command may be
// any.
bool IsOf(const Block& block, std::string_view program);

// What stands between the first `open` and the next `close` after it.
std::optional<std::string_view> Between(std::string_view text, std::string_view open,
                                        std::string_view close);
// Text that begins with digits of the given base gives them and moves on behind them.
std::optional<uint64_t> TakeNumber(std::string_view& text, int base = 10);
// Moves on behind blanks.
void SkipBlank(std::string_view& text);
// Moves on behind `what`; false where the text does not begin with it.
bool Take(std::string_view& text, std::string_view what);

// The id a device has in the site: "node000 mlx5_0" is "node000/mlx5_0" for a channel adapter whose
// description is two words (the form rdma-ndd writes); any other description, and a switch's, is
// taken as it is.
std::string DeviceId(bool is_adapter, std::string_view description);

// Ids by GUID. Two devices with one description ("Quantum Mellanox Technologies") are told apart by
// "@GUID", so that no port of one is taken for a port of the other. Devices without a description
// are called by their GUID.
class DeviceNames {
 public:
  void Add(uint64_t guid, bool is_adapter, std::string_view description);
  std::string Id(uint64_t guid) const;

 private:
  std::map<uint64_t, std::string> by_guid_;
  std::map<std::string, std::vector<uint64_t>> by_id_;
};

// Nominal data rate of one lane in Gb/s for the signalling rate that the tools print: 106.25 ->
// 100, 53.125 -> 50, 25.78125 -> 25, 14.0625 -> 14 and so on; times four they are the rates ibstat
// prints (400, 200, 100, 56). Source: the link speed table of the InfiniBand Architecture
// Specification, vol. 1, as infiniband-diags decodes PortInfo. Nothing for a speed that is not in
// the table.
std::optional<double> NominalLaneRate(double lane_gbit_per_s);

// Classic port counters saturate: 16 bits for most, 8 or 4 for some (IBTA PortCounters attribute;
// Linux drivers/infiniband/core/sysfs.c). A value at its maximum means "at least this many" and its
// growth is not known.
enum class CounterBits { k4 = 15, k8 = 255, k16 = 65535 };

}  // namespace muster::infiniband
