// A small line plot as inline SVG: axes with round ticks, one curve, a few labelled levels. Pure
// text, the same for the same input.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace muster {

struct PlotInput {
  std::string title, x_label, y_label;
  std::vector<std::pair<double, double>> points;           // in x order
  std::vector<std::pair<std::string, double>> lines = {};  // horizontal levels: label, y
  bool log_x = false;
  bool x_bytes = false;  // tick labels as 1M, 1G
};
std::string SvgPlot(const PlotInput& input);

}  // namespace muster
