#include "app/report/svg_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr double kWidth = 720, kHeight = 300, kLeft = 64, kRight = 96, kTop = 34, kBottom = 46;

constexpr double kMost = 1e30;

// 1, 2 or 5 times a power of ten, about `count` steps over the span.
double RoundStep(double span, int count) {
  const double raw = span / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::string Bytes(double bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:g}{}", std::round(bytes * 10) / 10, kUnits[unit]);
}

class Plot {
 public:
  explicit Plot(const PlotInput& in) : in_(in) {
    x0_ = in.points.front().first;
    x1_ = in.points.back().first;
    y1_ = 0;
    for (const auto& [x, y] : in.points) y1_ = std::max(y1_, y);
    for (const auto& [label, y] : in.lines) y1_ = std::max(y1_, y);
    step_ = RoundStep(std::max(y1_, 1e-12) * 1.05, 5);
    y1_ = step_ * std::max(1.0, std::ceil(y1_ * 1.02 / step_));
  }

  std::string Draw() const {
    std::string svg = fmt::format(
        "<svg viewBox=\"0 0 {:g} {:g}\" width=\"{:g}\" role=\"img\" "
        "font-family=\"system-ui,sans-serif\" font-size=\"12\" "
        "fill=\"currentColor\"><title>{}</title>\n"
        "<text x=\"{:g}\" y=\"18\" font-size=\"14\" font-weight=\"600\">{}</text>\n",
        kWidth, kHeight, kWidth, EscapeXml(in_.title), kLeft, EscapeXml(in_.title));
    for (double y = 0; y <= y1_ + step_ / 2; y += step_) {
      svg += fmt::format(
          "<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"currentColor\" "
          "stroke-opacity=\".15\"/>"
          "<text x=\"{3:g}\" y=\"{4:.1f}\" text-anchor=\"end\" fill-opacity=\".7\">{5:g}</text>\n",
          kLeft, kWidth - kRight, Y(y), kLeft - 8, Y(y) + 4, std::round(y * 1000) / 1000);
    }
    svg += XTicks();
    for (const auto& [label, y] : in_.lines) {
      svg += fmt::format(
          "<line x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#8250df\" "
          "stroke-dasharray=\"5 4\"/><text x=\"{3:g}\" y=\"{4:.1f}\" fill=\"#8250df\">{5}</text>\n",
          kLeft, kWidth - kRight, Y(y), kWidth - kRight + 6, Y(y) + 4, EscapeXml(label));
    }
    std::string path;
    for (const auto& [x, y] : in_.points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", X(x), Y(y));
    svg +=
        fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#0969da\" stroke-width=\"2\"/>\n", path);
    svg += fmt::format(
        "<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\" fill-opacity=\".7\">{}</text>"
        "<text transform=\"translate(14 {:g}) rotate(-90)\" text-anchor=\"middle\" "
        "fill-opacity=\".7\">{}</text>\n</svg>\n",
        (kLeft + kWidth - kRight) / 2, kHeight - 6, EscapeXml(in_.x_label),
        (kTop + kHeight - kBottom) / 2, EscapeXml(in_.y_label));
    return svg;
  }

 private:
  double X(double x) const {
    const double share = in_.log_x
                             ? (std::log2(x) - std::log2(x0_)) / (std::log2(x1_) - std::log2(x0_))
                             : (x - x0_) / (x1_ - x0_);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  double Y(double y) const { return kHeight - kBottom - y / y1_ * (kHeight - kTop - kBottom); }

  std::string XTick(double x, const std::string& label) const {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:g}\" text-anchor=\"middle\" fill-opacity=\".7\">{}</text>\n",
        X(x), kHeight - kBottom + 18, label);
  }
  std::string XTicks() const {
    std::string svg;
    if (in_.log_x) {
      const double decades = std::log2(x1_ / x0_);
      const double every = std::max(1.0, std::round(decades / 7));
      for (double p = 0; p <= decades + 1e-9; p += every) {
        const double x = x0_ * std::exp2(p);
        svg += XTick(x, in_.x_bytes ? Bytes(x) : fmt::format("{:g}", x));
      }
      return svg;
    }
    const double step = RoundStep(x1_ - x0_, 7);
    for (double x = std::ceil(x0_ / step) * step; x <= x1_ + 1e-9; x += step)
      svg += XTick(x, fmt::format("{:g}", x));
    return svg;
  }

  const PlotInput& in_;
  double x0_ = 0, x1_ = 1, y1_ = 1, step_ = 1;
};

}  // namespace

std::string SvgPlot(const PlotInput& input) {
  PlotInput drawn = input;
  // A loss that is NaN has no place on paper (nor has a size of 0 on a logarithmic axis); the
  // report says in words that it was there.
  std::erase_if(drawn.points, [&](const auto& point) {
    return !(std::abs(point.first) < kMost) || !(std::abs(point.second) < kMost) ||
           point.second < 0 || (input.log_x && point.first <= 0);
  });
  std::erase_if(drawn.lines, [](const auto& line) { return !(std::abs(line.second) < kMost); });
  if (drawn.points.size() < 2) return "";
  const double span = drawn.points.back().first - drawn.points.front().first;
  // A span that is lost in rounding has no ticks.
  if (!(span > 1e-9 * std::abs(drawn.points.back().first))) return "";
  return Plot(drawn).Draw();
}

}  // namespace muster
