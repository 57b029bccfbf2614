#include "diagnose/printer.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

// Behind a stamp, a host, "kernel:" and a rank: a driver's name is among these words of a line.
constexpr size_t kHeadWords = 9;

std::string_view Find(const std::map<std::string, std::string, std::less<>>& layers,
                      std::string_view name) {
  const auto at = layers.find(name);
  return at == layers.end() ? std::string_view() : at->second;
}

bool Hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// "0000:17:00.0" or "7870:00:00.0:"; "mlx5_0:" of "infiniband mlx5_0:"; "(nvme0n1p1):".
bool NamesADevice(std::string_view word) {
  if (word.ends_with(':')) return true;
  const size_t dot = word.rfind('.');
  return dot != std::string_view::npos && dot >= 7 && word.size() == dot + 2 &&
         std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(dot),
                     [](char c) { return Hex(c) || c == ':'; });
}

// "slurmd" of "slurmd[811]:" and "slurmd:".
std::string_view DaemonOf(std::string_view word) {
  if (!word.ends_with(':')) return "";
  word.remove_suffix(1);
  if (word.ends_with(']')) word = word.substr(0, word.find('['));
  return word;
}

}  // namespace

std::string_view LayerOfPrinter(const Printers& printers, std::string_view line) {
  const auto words = SplitBlank(line.substr(0, 200));
  for (size_t i = 0; i < words.size() && i < kHeadWords; ++i) {
    std::string_view name = words[i];
    const bool alone = name.ends_with(':');
    if (alone) name.remove_suffix(1);
    const bool device = i + 1 < words.size() && NamesADevice(words[i + 1]);
    if (alone || device)
      if (const std::string_view layer = Find(printers.drivers, name); !layer.empty()) return layer;
    if (const std::string_view layer = Find(printers.daemons, DaemonOf(words[i])); !layer.empty())
      return layer;
  }
  return "";
}

}  // namespace muster::diagnose
