// Who prints a line tells the layer when nobody knows its words: the kernel's drivers name
// themselves and the device, daemons stand behind the host of a syslog line.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster::diagnose {

// Names of drivers and daemons, with their layers: catalogue/diagnose/printers.yaml.
struct Printers {
  std::map<std::string, std::string, std::less<>> drivers, daemons;
};

// The layer of the driver or daemon that printed the line; "" when it names none that is known.
std::string_view LayerOfPrinter(const Printers& printers, std::string_view line);

}  // namespace muster::diagnose
