#include "sched/timeline/svg.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::timeline {

namespace {

constexpr double kWidth = 1180, kLeft = 150, kRight = 24;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kGap = 44;
constexpr double kMostMapHeight = 900, kMostRow = 16;

// Neighbours in a list get colours far apart (golden angle).
std::string Colour(size_t index, int saturation, int lightness) {
  return fmt::format("hsl({:.0f},{}%,{}%)",
                     std::fmod(static_cast<double>(index) * 137.508 + 210, 360), saturation,
                     lightness);
}

class Drawing {
 public:
  Drawing(const Timeline& timeline, size_t most_moments)
      : timeline_(timeline), moments_(Moments(timeline, most_moments)), queues_(Queues(timeline)) {}

  std::string Draw(const std::string& title) {
    Text(kLeft, 28, title, "font-size:17px;font-weight:600");
    Text(kLeft, 46,
         fmt::format("{} nodes, {} jobs, {} of virtual time", timeline_.nodes.size(),
                     timeline_.jobs.size(), SpanText(timeline_.end)),
         "fill:#667");
    y_ = 84;
    UsePanel();
    LinePanel("GPUs waited for", "#b2590a", [](const Moment& m) { return m.gpus_waited_for; });
    LinePanel("Idle GPUs on nodes in use", "#8a2b52", [](const Moment& m) { return m.stranded; });
    MapPanel();
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"system-ui,sans-serif\" "
               "font-size=\"12\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
               kWidth, y_ + 10) +
           out_ + "</svg>\n";
  }

 private:
  double X(int64_t t) const {
    return kLeft + kPlot * static_cast<double>(t) /
                       static_cast<double>(std::max<int64_t>(1, timeline_.end));
  }
  void Text(double x, double y, const std::string& text, const std::string& style,
            const char* anchor = "start") {
    out_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" style=\"{}\">{}</text>\n",
                    x, y, anchor, style, EscapeXml(text));
  }
  void Line(double x1, double y1, double x2, double y2, const char* colour) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1,
        x2, y2, colour);
  }

  // Heading, value axis with its maximum, time axis.
  void Frame(const std::string& heading, double height, double top_value) {
    Text(kLeft, y_ - 8, heading, "font-weight:600;fill:#334");
    Line(kLeft, y_ + height, kLeft + kPlot, y_ + height, "#99a");
    if (top_value > 0) {
      Line(kLeft, y_, kLeft + kPlot, y_, "#e3e3ea");
      Text(kLeft - 8, y_ + 4, fmt::format("{:.0f}", top_value), "fill:#667", "end");
      Text(kLeft - 8, y_ + height + 4, "0", "fill:#667", "end");
    }
    for (int i = 0; i <= 6; ++i) {
      const int64_t t = timeline_.end * i / 6;
      Text(X(t), y_ + height + 15, SpanText(t), "fill:#667;font-size:11px",
           i == 0   ? "start"
           : i == 6 ? "end"
                    : "middle");
    }
  }
  // Steps from moment to moment; `value` of each gives the height.
  std::string Steps(double height, double top_value,
                    const std::function<double(const Moment&)>& value, bool backwards) const {
    std::string path;
    const auto y = [&](double v) { return y_ + height * (1 - v / std::max(top_value, 1e-9)); };
    const auto point = [&](int64_t t, double v) {
      path += fmt::format("L{:.1f} {:.1f}", X(t), y(v));
    };
    for (size_t k = 0; k < moments_.size(); ++k) {
      const size_t i = backwards ? moments_.size() - 1 - k : k;
      const int64_t next = i + 1 < moments_.size() ? moments_[i + 1].t : moments_[i].t;
      const double v = value(moments_[i]);
      point(backwards ? next : moments_[i].t, v);
      point(backwards ? moments_[i].t : next, v);
    }
    return path;
  }

  void UsePanel() {
    constexpr double kHeight = 170;
    double top = 1;
    for (const Moment& m : moments_) top = std::max({top, m.gpus, m.used});
    Frame("GPUs in use, by queue", kHeight, top);
    const auto below = [](size_t queue) {
      return [queue](const Moment& m) {
        double sum = 0;
        for (size_t q = 0; q < queue; ++q) sum += m.used_by_queue[q];
        return sum;
      };
    };
    for (size_t q = 0; q < queues_.size(); ++q) {
      std::string path =
          Steps(kHeight, top, below(q + 1), false) + Steps(kHeight, top, below(q), true);
      path[0] = 'M';
      out_ += fmt::format("<path d=\"{}Z\" fill=\"{}\"/>\n", path, Colour(q, 55, 62));
    }
    std::string path = Steps(kHeight, top, [](const Moment& m) { return m.gpus; }, false);
    path[0] = 'M';
    out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"#334\" stroke-dasharray=\"4 3\"/>\n",
                        path);
    double x = kLeft + 170;
    for (size_t q = 0; q < queues_.size() && x < kLeft + kPlot - 60; ++q) {
      out_ +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                      x, y_ - 17, Colour(q, 55, 62));
      const std::string name = Shorten(queues_[q], 24);
      Text(x + 14, y_ - 8, name, "fill:#334");
      x += 30 + 7.0 * static_cast<double>(name.size());
    }
    y_ += kHeight + kGap;
  }

  void LinePanel(const std::string& heading, const char* colour,
                 const std::function<double(const Moment&)>& value) {
    constexpr double kHeight = 70;
    double top = 1;
    for (const Moment& m : moments_) top = std::max(top, value(m));
    Frame(heading, kHeight, top);
    std::string path = Steps(kHeight, top, value, false);
    path[0] = 'M';
    out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n", path,
                        colour);
    y_ += kHeight + kGap;
  }

  // A row for each node, grouped by its domains; a block for each rank, as high as its part of the
  // GPUs.
  void MapPanel() {
    const auto rows = static_cast<double>(std::max<size_t>(1, timeline_.nodes.size()));
    const double row = std::min(kMostRow, kMostMapHeight / rows);
    const double height = row * rows;
    Frame("Where each gang sat (colour = job)", height, 0);
    double last_label = -100;
    std::vector<std::string> group;
    for (size_t i = 0; i < timeline_.nodes.size(); ++i) {
      const Node& node = timeline_.nodes[i];
      const double top = y_ + row * static_cast<double>(i);
      if (i == 0 || node.path != group) {
        group = node.path;
        Line(kLeft - 140, top, kLeft + kPlot, top, "#ccd");
        if (top - last_label > 11) {
          Text(kLeft - 140, top + 10, Shorten(Join(group, " / "), 14), "fill:#334;font-size:10px");
          last_label = top;
        }
      }
      if (row >= 9)
        Text(kLeft - 6, top + row - 3, Shorten(node.name, 12), "fill:#667;font-size:9px", "end");
    }
    for (const Stay& stay : timeline_.stays) {
      const Node& node = timeline_.nodes[stay.node];
      const double gpus = std::max(1, node.gpus);
      const auto block = [&](double from, double size, double opacity) {
        out_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
            "fill-opacity=\"{}\">"
            "<title>{} on {}</title></rect>\n",
            X(stay.start), y_ + row * (static_cast<double>(stay.node) + from / gpus),
            std::max(0.5, X(stay.end) - X(stay.start) - 0.4),
            std::max(0.4, row * size / gpus - 0.3), Colour(stay.job, 62, 56), opacity,
            EscapeXml(timeline_.jobs[stay.job].name), EscapeXml(node.name));
      };
      if (stay.devices.empty()) {
        if (stay.gpus > 0) block(0, stay.gpus, 0.8);
        continue;
      }
      // Runs of neighbouring devices are one block.
      std::vector<int> ids = stay.devices;
      std::sort(ids.begin(), ids.end());
      for (size_t i = 0, j = 0; i < ids.size(); i = j) {
        for (j = i + 1; j < ids.size() && ids[j] == ids[j - 1] + 1;) ++j;
        const bool share = ids.size() == 1 && stay.gpus < 1;
        block(std::min<double>(ids[i], gpus - 1), share ? 1 : static_cast<double>(j - i),
              share ? 0.45 : 1);
      }
    }
    y_ += height + kGap;
  }

  const Timeline& timeline_;
  std::vector<Moment> moments_;
  std::vector<std::string> queues_;
  std::string out_;
  double y_ = 0;
};

}  // namespace

std::string SpanText(int64_t ms) {
  const auto with = [](double value, const char* unit) {
    return value == std::floor(value) ? fmt::format("{:.0f} {}", value, unit)
                                      : fmt::format("{:.1f} {}", value, unit);
  };
  if (ms < 1000) return fmt::format("{} ms", ms);
  if (ms < 120'000) return with(static_cast<double>(ms) / 1000, "s");
  if (ms < 2 * 3'600'000) return with(static_cast<double>(ms) / 60'000, "min");
  if (ms < 48 * 3'600'000) return with(static_cast<double>(ms) / 3'600'000, "h");
  return with(static_cast<double>(ms) / 86'400'000, "d");
}

std::string ToSvg(const Timeline& timeline, const std::string& title, size_t most_moments) {
  return Drawing(timeline, most_moments).Draw(title);
}

}  // namespace muster::timeline
