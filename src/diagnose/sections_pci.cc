// lspci -vv: links that are narrower or slower than both ends can, devices that left the bus. A
// device is printed under one heading, with its link's capability before its status; anything else
// means that lines were lost or mixed.
#include <array>
#include <cctype>
#include <string>

#include "base/strings.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

bool LspciHead(std::string_view line) {
  size_t i = 0;
  while (i < line.size() &&
         (std::isxdigit(static_cast<unsigned char>(line[i])) || line[i] == ':' || line[i] == '.'))
    ++i;
  return i >= 7 && i <= 16 && i < line.size() && line[i] == ' ' && Contains(line.substr(0, i), ":");
}

bool AcsRow(std::string_view line) {
  constexpr std::string_view kName = "ACSCtl:";
  line = Trim(line);
  return line.starts_with(kName) && Trim(line.substr(kName.size())).starts_with("SrcValid");
}

void ReadLspci(const Section& s, FactStore& facts) {
  std::string slot, name;
  int speed_max = 0, width_max = 0;
  size_t offset = 0;
  const auto number_after = [](std::string_view line, std::string_view mark) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) return 0;
    int value = 0;
    for (size_t i = at + mark.size(); i < line.size() && line[i] >= '0' && line[i] <= '9'; ++i)
      value = value * 10 + (line[i] - '0');
    return value;
  };
  bool waits = false;  // for the status of a link whose capability was read
  bool driven = false, described = false;
  bool bound = true;  // modules are listed, and one of them drives the device
  size_t head_at = 0;
  const auto close = [&] {
    if (waits) AddDamage(s, facts, "lspci: a link's capability without its status");
    waits = false;
  };
  const auto end = [&] {
    close();
    if (bound && !driven && described && width_max == 0 && Contains(name, "NVIDIA"))
      AddDamage(s, facts, "lspci: no line says which driver holds " + slot);
    if (!bound && Contains(name, "NVIDIA"))
      facts.Add(s.Make("pcie.unbound", {{"pci", slot}, {"name", name}}, s.At(head_at), name));
    bound = true;
  };
  for (const std::string_view line : Split(s.text, '\n')) {
    const size_t at = offset;
    offset += line.size() + 1;
    if (LspciHead(line)) {
      end();
      head_at = at;
      driven = described = false;
      slot = line.substr(0, line.find(' '));
      name = Shorten(Trim(line.substr(line.find(' '))), 80);
      if (!Contains(name, ": ")) AddDamage(s, facts, "lspci: a device without its name");
      speed_max = width_max = 0;
      if (Contains(line, "(rev ff)"))
        facts.Add(s.Make("pcie.rev_ff", {{"pci", slot}, {"name", name}}, s.At(at), line));
    } else if (Contains(line, "LnkCap:")) {
      if (width_max > 0) AddDamage(s, facts, "lspci: two links of one device");
      close();
      waits = true;
      speed_max = number_after(line, "Speed ");
      width_max = number_after(line, "Width x");
    } else if (Contains(line, "LnkSta:")) {
      const int width = number_after(line, "Width x"), speed = number_after(line, "Speed ");
      if (!waits) AddDamage(s, facts, "lspci: a link's status without its capability");
      waits = false;
      const bool gpu = Contains(name, "NVIDIA");
      const bool nic = Contains(name, "Mellanox") || Contains(name, "ConnectX");
      if (width > 0 && width_max > 0 && width < width_max)
        facts.Add(s.Make(
            gpu   ? "gpu.pcie_narrow"
            : nic ? "nic.pcie_narrow"
                  : "pcie.narrow",
            {{"pci", slot}, {"value", std::to_string(width)}, {"max", std::to_string(width_max)}},
            s.At(at), line));
      if ((nic || gpu) && speed > 0 && speed < speed_max)
        facts.Add(s.Make(
            nic ? "nic.pcie_slow" : "gpu.pcie_slow",
            {{"pci", slot}, {"value", std::to_string(speed)}, {"max", std::to_string(speed_max)}},
            s.At(at), line));
    } else if (Contains(line, "ACSCtl:") && Contains(line, "ReqRedir+")) {
      // Rows without headings are the answer to somebody who asked for just this.
      const std::string_view asked = slot.empty() ? "yes" : "no";
      facts.Add(s.Make("pcie.acs_redirect", {{"pci", slot}, {"asked", std::string(asked)}},
                       s.At(at), line));
    } else if (Contains(line, "Subsystem:")) {
      described = true;
    } else if (Contains(line, "Kernel driver in use:")) {
      driven = true;
    } else if (Contains(line, "Kernel modules:")) {
      bound = driven;
    } else if (Contains(line, "Unknown header type 7f")) {
      facts.Add(s.Make("pcie.rev_ff", {{"pci", slot}, {"name", name}}, s.At(at), line));
    }
  }
  end();
}

constexpr std::array kPci = {
    SectionKind{"lspci", "nvidia corporation", LspciHead,
                [](std::string_view l) { return Indented(l) || LspciHead(l); }, ReadLspci},
    SectionKind{"lspci", "mellanox technologies", LspciHead,
                [](std::string_view l) { return Indented(l) || LspciHead(l); }, ReadLspci},
    SectionKind{"lspci", "acsctl:", AcsRow, AcsRow, ReadLspci},
};

}  // namespace

std::span<const SectionKind> PciSections() { return kPci; }

}  // namespace muster::diagnose
