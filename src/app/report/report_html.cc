// The report as one HTML file: no script, no font and no picture from elsewhere; it prints, and
// reads in light and dark.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/baseline.h"
#include "app/report/report.h"
#include "app/report/report_parts.h"
#include "app/report/svg_plot.h"
#include "base/strings.h"

namespace muster {

namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5c6670;--line:#d5dae0;--paper:#fff;--card:#f6f8fa;--pass:#1a7f37;--warn:#9a6700;--fail:#cf222e;--unknown:#8250df}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa5b1;--line:#313944;--paper:#0d1117;--card:#161b22;--pass:#3fb950;--warn:#d29922;--fail:#f85149;--unknown:#bc8cff}}
*{box-sizing:border-box}body{margin:0 auto;max-width:68rem;padding:2rem 1.5rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}
.note{border-left:4px solid var(--unknown);background:var(--card);padding:.6rem 1rem;margin:1rem 0}
table{border-collapse:collapse;width:100%;font-size:.9rem}th{text-align:left;color:var(--soft);font-weight:600}
th,td{padding:.3rem .7rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}td.code{white-space:nowrap;font-family:ui-monospace,monospace}
.v{font-weight:700;white-space:nowrap}.PASS{color:var(--pass)}.WARN{color:var(--warn)}.FAIL{color:var(--fail)}.UNKNOWN,.NOT{color:var(--unknown)}
.gates{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.2rem,1fr));gap:.5rem;margin:1.2rem 0}
.gate{background:var(--card);border:1px solid var(--line);border-top:4px solid currentColor;border-radius:4px;padding:.5rem .6rem}.gate b{display:block;color:var(--ink);font-size:.85rem;font-weight:600}
.suspect{background:var(--card);border-left:4px solid var(--fail);padding:.5rem .9rem;margin:.6rem 0}code{font-family:ui-monospace,monospace;font-size:.86em;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.2rem;margin:.8rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
small,.soft{color:var(--soft)}svg{max-width:100%;height:auto}@media print{body{max-width:none}h2{break-after:avoid}tr{break-inside:avoid}}
)";

std::string WordClass(const std::string& label) { return label.substr(0, label.find(' ')); }

std::string GateSection(const GateResult& r, const Catalogue& catalogue) {
  const GateInfo* info = catalogue.Gate(r.gate);
  const std::string label = LevelLabel(r);
  std::string html =
      fmt::format("<h2 id=\"gate-{0}\">Gate {0} · {1} · <span class=\"v {2}\">{3}</span></h2>\n",
                  r.gate, EscapeXml(info == nullptr ? "" : info->name), WordClass(label), label);
  if (!r.blocked_by.empty())
    return html + fmt::format("<p>Not observed: {}.</p>\n", EscapeXml(r.blocked_by));
  if (info != nullptr) html += fmt::format("<p class=\"soft\">{}</p>\n", EscapeXml(info->passes));
  if (!r.waived_by.empty())
    html += fmt::format("<p class=\"note\">Waived by {}</p>\n", EscapeXml(r.waived_by));
  for (const Suspect& s : r.suspects) {
    html += fmt::format("<div class=\"suspect\"><b>{}</b> {}<br><code>{}</code></div>\n",
                        EscapeXml(s.subject.ToString()), EscapeXml(s.why), EscapeXml(s.next));
  }
  html +=
      "<table><thead><tr><th>code<th>criterion<th>wanted<th>measured<th>subjects<th>verdict</tr></"
      "thead><tbody>\n";
  for (const CriterionRow& row : RowsOf(r, catalogue)) {
    html += fmt::format(
        "<tr><td class=\"code\">{}<td>{}<br><small>{}</small><td>{}<td>{}<td>{}<td class=\"v "
        "{}\">{}</tr>\n",
        row.code, EscapeXml(row.title), EscapeXml(row.source), EscapeXml(row.wanted),
        EscapeXml(row.measured), EscapeXml(row.subjects), row.verdict, row.verdict);
  }
  html += "</tbody></table>\n";
  if (!r.not_applicable.empty()) {
    html += "<p class=\"soft\">Not applicable here:</p><ul class=\"soft\">\n";
    for (const NotApplicable& n : r.not_applicable)
      html += fmt::format("<li>{} {}: {}</li>\n", n.code, EscapeXml(n.title), EscapeXml(n.reason));
    html += "</ul>\n";
  }
  return html;
}

std::string Figures(const ReportInput& in) {
  const auto figures = FiguresOfRun(in.run);
  if (figures.empty()) return "";
  std::string html =
      "<h2>Measured "
      "figures</h2>\n<table><thead><tr><th>figure<th>measured<th>baseline<th>change</tr></"
      "thead><tbody>\n";
  for (const auto& [name, q] : figures) {
    const auto was = in.baseline.find(name);
    const bool comparable =
        was != in.baseline.end() && was->second.unit == q.unit && was->second.value != 0;
    html += fmt::format(
        "<tr><td class=\"code\">{}<td>{}<td>{}<td>{}</tr>\n", EscapeXml(name), FormatQuantity(q),
        comparable ? FormatQuantity(was->second) : "-",
        comparable ? fmt::format("{:+.1f} %", (q.value / was->second.value - 1) * 100) : "-");
  }
  return html + "</tbody></table>\n";
}

std::string Plots(const ReportInput& in) {
  std::string html;
  if (const auto sweep = SweepOf(in.run); sweep.size() > 1) {
    PlotInput plot;
    plot.title = "All-reduce bus bandwidth over message size";
    plot.x_label = "message size";
    plot.y_label = "busbw, GB/s";
    plot.points = sweep;
    plot.log_x = true;
    plot.x_bytes = true;
    const auto figures = FiguresOfRun(in.run);
    const auto plateau = figures.find("busbw"), ratio = figures.find("busbw_ratio");
    if (plateau != figures.end() && ratio != figures.end() && ratio->second.value > 0) {
      const double ceiling = plateau->second.value / ratio->second.value;
      plot.lines = {{fmt::format("ceiling {:.0f}", ceiling), ceiling},
                    {"pass 92 %", ceiling * 0.92}};
    }
    html += SvgPlot(plot);
  }
  if (const auto losses = LossesOf(in.run); losses.size() > 1) {
    PlotInput plot;
    plot.title = "Training loss";
    plot.x_label = "step";
    plot.y_label = "loss, nats";
    plot.points = losses;
    html += SvgPlot(plot);
  }
  return html.empty() ? "" : "<h2>Curves</h2>\n" + html;
}

}  // namespace

std::string ReportHtml(const ReportInput& in) {
  const RunHeader& h = in.run.header;
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">"
      "<title>Acceptance of {}</title><style>{}</style></head><body>\n<h1>Acceptance report: "
      "{}</h1>\n",
      EscapeXml(h.site_name), kStyle, EscapeXml(h.site_name));
  if (h.origin == Origin::kRehearsed) {
    html +=
        "<p class=\"note\"><b>Rehearsed.</b> Everything here was played on one machine; nothing in "
        "it speaks of real hardware.</p>\n";
  }
  html += "<div class=\"gates\">\n";
  for (const GateRecord& record : in.run.gates) {
    if (!record.result) continue;
    const GateInfo* info = in.catalogue.Gate(record.gate);
    const std::string label = LevelLabel(*record.result);
    html += fmt::format(
        "<a class=\"gate v {0}\" href=\"#gate-{1}\" style=\"text-decoration:none\"><b>{1} "
        "{2}</b>{3}</a>\n",
        WordClass(label), record.gate, EscapeXml(info == nullptr ? "" : info->name), label);
  }
  html += "</div>\n";
  html += fmt::format(
      "<dl><dt>run<dd>{}<dt>scope<dd>{}<dt>began<dd>{}<dt>ended<dd>{}<dt>by<dd>{}<dt>Muster<dd>{}<"
      "dt>site file<dd><code>sha256 {}</code><dt>evidence<dd><code>sha256 {}</code></dl>\n",
      EscapeXml(h.run),
      EscapeXml(h.scope.empty() ? fmt::format("all {} nodes", h.nodes.size()) : h.scope),
      FormatTime(h.at), FormatTime(in.run.ended), EscapeXml(h.by), EscapeXml(h.version),
      h.site_sha256, in.evidence_sha256);
  html += Figures(in) + Plots(in);
  if (!in.waivers.empty()) {
    html += "<h2>Waivers</h2><ul>\n";
    for (const std::string& waiver : in.waivers)
      html += fmt::format("<li>{}</li>\n", EscapeXml(waiver));
    html += "</ul>\n";
  }
  for (const GateRecord& record : in.run.gates) {
    if (record.result) html += GateSection(*record.result, in.catalogue);
  }
  return html + fmt::format(
                    "<p class=\"soft\">Judge it again from the raw readings: <code>muster verify "
                    "{}</code></p>\n</body></html>\n",
                    EscapeXml(h.run));
}

}  // namespace muster
