#include "app/site_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/site_acting.h"
#include "app/site_cluster.h"
#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {

class SiteReader {
 public:
  SiteReader(const YamlNode& root, std::string_view file)
      : reader_(root, file, findings_), file_(file) {}

  Result<Site> Read(const YamlNode& root) {
    if (reader_.Text("apiVersion") != "muster/v1") reader_.Say("apiVersion: expected muster/v1");
    if (reader_.Text("kind") != "Site") reader_.Say("kind: expected Site");
    site_.name = reader_.Text("name");
    ReadType(reader_.Text("type"));
    if (const YamlNode* node = reader_.NeedChild("cluster"))
      ReadCluster(*node, file_, site_, findings_);
    Section("lab", [&](YamlReader& r) { ReadLab(r); });
    Section("fabric", [&](YamlReader& r) { ReadFabric(r); });
    Section("facility", [&](YamlReader& r) { ReadFacility(r); });
    Section("telemetry", [&](YamlReader& r) { ReadTelemetry(r); });
    Section("training", [&](YamlReader& r) { ReadTraining(r); });
    Section("collective", [&](YamlReader& r) { ReadCollective(r); });
    Section("inference", [&](YamlReader& r) { ReadInference(r); });
    Section("alerts", [&](YamlReader& r) { ReadAlerts(r); });
    ReadWindows();
    ReadMap("ssh", site_.ssh);
    ReadMap("pins", site_.pins);
    ReadThresholds();
    ReadScopes();
    ReadActs();
    ReadActing(reader_, site_, findings_);
    reader_.Done();
    FindPlaceholders(root, file_, findings_);
    if (site_.kind == SiteKind::kLab && site_.lab_dir.empty()) site_.lab_dir = "lab";
    TRY_VOID(ToStatus(findings_));
    return std::move(site_);
  }

 private:
  template <typename Body>
  void Section(std::string_view key, Body body) {
    const YamlNode* node = reader_.Child(key);
    if (node == nullptr) return;
    YamlReader section(*node, file_, findings_);
    body(section);
    section.Done();
  }

  void ReadType(const std::string& type) {
    if (type == "lab") {
      site_.kind = SiteKind::kLab;
    } else if (type == "host") {
      site_.kind = SiteKind::kHost;
    } else if (type == "kubernetes") {
      site_.kind = SiteKind::kKubernetes;
    } else if (!type.empty()) {
      reader_.Say(fmt::format("type: \"{}\" is not known, expected lab, host or kubernetes", type));
    }
  }

  void ReadLab(YamlReader& r) { site_.lab_dir = r.TextOr("folder", "lab"); }

  void ReadFabric(YamlReader& r) {
    const std::string type = r.TextOr("type", "infiniband");
    if (type != "infiniband" && type != "roce")
      r.Say(fmt::format("type: \"{}\" is not known, expected infiniband or roce", type));
    site_.roce = type == "roce";
    site_.fabric_host = r.TextOr("host", "");
    if (!site_.fabric_host.empty() && site_.cluster.FindNode(site_.fabric_host) == nullptr) {
      r.Say(fmt::format("host: unknown host \"{}\"", site_.fabric_host));
    }
    site_.expect_sharp = r.BoolOr("sharp", false);
    site_.window = r.DurationOr("counter_window", site_.window);
  }

  void ReadFacility(YamlReader& r) {
    for (const YamlNode& yaml : r.Items("budgets")) {
      YamlReader b(yaml, file_, findings_);
      Budget budget;
      budget.name = b.Text("name");
      const auto limit = b.QuantityIfAny("limit"), used = b.QuantityIfAny("used");
      if (!limit || !used) {
        if (!b.Has("limit") || !b.Has("used"))
          b.Say("a budget needs limit and used, such as 45 kW");
      } else if (limit->unit != used->unit) {
        b.Say(fmt::format("limit and used are in different units ({} and {})",
                          ToString(limit->unit), ToString(used->unit)));
      } else {
        budget.limit = *limit;
        budget.used = *used;
      }
      b.Done();
      site_.budgets.push_back(std::move(budget));
    }
    for (const YamlNode& yaml : r.Items("pdus")) {
      YamlReader p(yaml, file_, findings_);
      site_.pdus.push_back({p.Text("name"), p.TextOr("redfish", "")});
      p.Done();
    }
  }

  void ReadTelemetry(YamlReader& r) {
    for (const std::string name : {"prometheus", "alertmanager", "synthetic"}) {
      const std::string url = r.TextOr(name, "");
      if (!url.empty()) site_.endpoints[name] = {name, url, ""};
    }
    // A setting that nothing reads would be believed to work.
    for (const auto& [name, instead] :
         {std::pair{"exporter", "dcgm-exporter is asked at port 9400 of each node"},
          std::pair{"ufm",
                    "the fabric is read through sminfo, iblinkinfo, "
                    "ibnetdiscover, perfquery "
                    "and ibdiagnet"}}) {
      if (const YamlNode* node = r.Child(name))
        r.SayAt(*node,
                fmt::format("{} is not read by this version, leave it out: {}", name, instead));
    }
  }

  std::string ImageOf(YamlReader& r) {
    std::string image = r.TextOr("image", "");
    if (!image.empty() && site_.kind != SiteKind::kKubernetes)
      r.Say("image: is of type kubernetes, where ranks are pods");
    return image;
  }

  void ReadTraining(YamlReader& r) {
    TrainingTarget& t = site_.training;
    t.command = r.TextsOr("command");
    t.ranks_per_node = static_cast<int>(r.IntOr("ranks_per_node", t.ranks_per_node));
    t.steps = static_cast<int>(r.IntOr("steps", t.steps));
    t.rank_reports = r.BoolOr("rank_reports", false);
    t.image = ImageOf(r);
    if (t.rank_reports && t.command.empty())
      r.Say(
          "rank_reports: says how the log of `command` is read, and there is "
          "no command");
    t.flops_per_token = r.RealOr("flops_per_token", 0);
    if (auto peak = r.QuantityIfAny("peak", Unit::kFlops)) t.peak_flops = peak->value;
    if (auto mfu = r.QuantityIfAny("mfu_target", Unit::kRatio)) t.mfu_min = mfu->value;
    t.step_spread_max = r.RealOr("step_spread_max", t.step_spread_max);
    t.rank_lag_max = r.RealOr("rank_lag_max", t.rank_lag_max);
    if (t.ranks_per_node < 1 || t.ranks_per_node > 64) r.Say("ranks_per_node: expected 1 to 64");
    if (t.steps < 20) r.Say("steps: expected 20 or more; fewer say nothing about a step time");
  }

  void ReadCollective(YamlReader& r) {
    CollectiveTarget& t = site_.collective;
    t.program = r.TextOr("program", t.program);
    t.mpi = r.BoolOr("mpi", t.mpi);
    t.mpirun = r.TextsOr("mpirun", t.mpirun);
    t.command = r.TextsOr("command");
    t.image = ImageOf(r);
    if (site_.kind == SiteKind::kKubernetes && t.mpi)
      r.Say("mpi: mpirun reaches no pods: name a command whose ranks meet by MASTER_ADDR");
    if (site_.kind != SiteKind::kKubernetes && !t.command.empty())
      r.Say("command: is of type kubernetes; elsewhere program and mpi say what runs");
    if (t.program.empty()) r.Say("program: expected the path or name of all_reduce_perf");
    if (t.mpirun.empty())
      r.Say(
          "mpirun: expected a list of words such as [mpirun, --mca, "
          "btl_tcp_if_include, eth0]");
    if (site_.kind == SiteKind::kLab) r.Say("collective: a lab starts its own ranks, leave it out");
  }

  void ReadInference(YamlReader& r) {
    InferenceTarget& t = site_.inference;
    t.url = r.TextOr("url", "");
    t.model = r.TextOr("model", "");
    t.command = r.TextsOr("command");
    t.image = ImageOf(r);
    t.port = static_cast<int>(r.IntOr("port", t.port));
    t.gpus = static_cast<int>(r.IntOr("gpus", t.gpus));
    t.ready_within = r.DurationOr("ready_within", t.ready_within);
    if (!t.command.empty() && site_.kind != SiteKind::kKubernetes)
      r.Say("command: is of type kubernetes, where the server is started as a pod");
    if (!t.command.empty() && !t.url.empty()) r.Say("either url, or command, not both");
    if (t.port < 1 || t.port > 65535) r.Say("port: expected 1 to 65535");
    if (t.gpus < 0 || t.gpus > 16) r.Say("gpus: expected 0 to 16");
    t.requests = static_cast<int>(r.IntOr("requests", t.requests));
    t.requests_per_s = r.RealOr("requests_per_s", t.requests_per_s);
    t.ttft_p99 = r.DurationOr("ttft_p99", t.ttft_p99);
    t.tpot_p99 = r.DurationOr("tpot_p99", t.tpot_p99);
    if (auto goodput = r.QuantityIfAny("goodput_min", Unit::kRatio)) t.goodput_min = goodput->value;
    if (t.requests < 10) r.Say("requests: expected 10 or more");
    if (!(t.requests_per_s > 0)) r.Say("requests_per_s: expected more than 0");
  }

  void ReadAlerts(YamlReader& r) {
    site_.alerts.alone = r.TextsOr("alone");
    site_.alerts.plan_waits = r.DurationOr("plan_waits", site_.alerts.plan_waits);
    if (site_.alerts.plan_waits <= Duration::zero())
      r.Say("plan_waits: expected a span such as 24h");
  }

  void ReadWindows() {
    for (const YamlNode& yaml : reader_.Items("change_windows")) {
      YamlReader w(yaml, file_, findings_);
      ChangeWindow window;
      window.name = w.Text("name");
      window.runbooks = w.TextsOr("runbooks");
      for (const std::string& day : w.TextsOr("days")) {
        if (const auto weekday = ParseWeekday(day); weekday.ok()) {
          window.days.push_back(*weekday);
        } else {
          w.SayAt(*w.Child("days"), "days: " + weekday.error().message);
        }
      }
      Duration until{};
      for (const auto& [key, into] : {std::pair{"from", &window.from}, std::pair{"to", &until}}) {
        const YamlNode* node = w.NeedChild(key);
        if (node == nullptr) continue;
        const auto text = YamlText(*node);
        const auto time = text.ok() ? ParseTimeOfDay(*text) : Fail(text.error());
        if (time.ok()) {
          *into = *time;
        } else {
          w.SayAt(*node, fmt::format("{}: {}", key, time.error().message));
        }
      }
      window.length = until - window.from;
      // The other side of midnight, and the same minute: a whole day.
      if (window.length <= Duration::zero()) window.length += std::chrono::hours(24);
      w.Done();
      site_.change_windows.push_back(std::move(window));
    }
  }

  void ReadMap(std::string_view key, std::map<std::string, std::string>& into) {
    const YamlNode* node = reader_.Child(key);
    if (node == nullptr) return;
    if (node->kind != YamlNode::Kind::kMapping)
      return reader_.SayAt(*node, fmt::format("{}: expected a mapping of names to texts", key));
    for (const YamlEntry& entry : node->entries) {
      auto text = YamlText(entry.value);
      if (text.ok()) {
        into[entry.key] = *text;
      } else {
        reader_.SayAt(entry.value, fmt::format("{}: {}", entry.key, text.error().message));
      }
    }
  }

  void ReadThresholds() {
    const YamlNode* node = reader_.Child("thresholds");
    if (node == nullptr) return;
    if (node->kind != YamlNode::Kind::kMapping)
      return reader_.SayAt(*node, "thresholds: expected a mapping of criterion codes to values");
    for (const YamlEntry& entry : node->entries) {
      auto quantity = YamlQuantity(entry.value);
      if (quantity.ok()) {
        site_.thresholds[entry.key] = *quantity;
      } else {
        reader_.SayAt(entry.value, fmt::format("{}: {}", entry.key, quantity.error().message));
      }
    }
  }

  void ReadScopes() {
    for (const YamlNode& yaml : reader_.Items("scopes")) {
      YamlReader s(yaml, file_, findings_);
      Scope scope{s.Text("name"), s.TextsOr("nodes")};
      if (scope.nodes.empty()) s.Say("a scope needs nodes");
      for (const std::string& name : scope.nodes) {
        if (site_.cluster.FindNode(name) == nullptr)
          s.Say(fmt::format("unknown host \"{}\" in scope {}", name, scope.name));
      }
      s.Done();
      site_.scopes.push_back(std::move(scope));
    }
  }

  void ReadActs() {
    for (const YamlNode& yaml : reader_.Items("acts")) {
      YamlReader a(yaml, file_, findings_);
      Act act;
      act.gate = static_cast<int>(a.Int("gate"));
      act.name = a.Text("name");
      act.kind = a.TextOr("kind", "shell");
      act.argv = Filled(a, "argv");
      act.probe = Filled(a, "probe");
      act.undo = Filled(a, "undo");
      act.timeout = a.DurationOr("timeout", act.timeout);
      act.destructive = a.BoolOr("destructive", false);
      if (act.gate < 1 || act.gate > 8) a.Say("gate: expected 1 to 8");
      if (act.argv.empty()) a.Say("an act needs argv, a list of words");
      if (act.destructive && act.probe.empty())
        a.Say("a destructive act needs a probe that can say whether it happened");
      CheckPinned(a, act);
      a.Done();
      if (std::any_of(site_.acts.begin(), site_.acts.end(),
                      [&](const Act& other) { return other.name == act.name; })) {
        a.Say(fmt::format("act \"{}\" is already there: names must not overlap", act.name));
      }
      site_.acts.push_back(std::move(act));
    }
  }

  // The words of an act, with {pins.NAME} filled in from the pins of the site.
  std::vector<std::string> Filled(YamlReader& a, std::string_view key) {
    constexpr std::string_view kHead = "{pins.";
    std::vector<std::string> words = a.TextsOr(key);
    for (std::string& word : words) {
      for (size_t at = word.find(kHead); at != std::string::npos; at = word.find(kHead, at)) {
        const size_t end = word.find('}', at);
        const size_t name_at = at + kHead.size();
        const std::string name =
            end == std::string::npos ? "" : word.substr(name_at, end - name_at);
        const auto pin = site_.pins.find(name);
        if (pin == site_.pins.end()) {
          a.SayAt(*a.Child(key), fmt::format("{}: there is no pin \"{}\" in pins", key, name));
          break;
        }
        word.replace(at, end + 1 - at, pin->second);
        at += pin->second.size();
      }
    }
    return words;
  }

  // A chart is pinned by --version; without it helm takes whatever is newest
  // that day.
  void CheckPinned(YamlReader& a, const Act& act) {
    static const std::vector<std::string> kKinds = {"ansible", "helm", "kubectl", "shell"};
    if (std::find(kKinds.begin(), kKinds.end(), act.kind) == kKinds.end()) {
      a.Say(fmt::format("kind: \"{}\" is not known, expected ansible, helm, kubectl or shell",
                        act.kind));
    }
    const auto has = [&](std::string_view flag) {
      return std::any_of(act.argv.begin(), act.argv.end(), [&](const std::string& word) {
        return word == flag || StartsWith(word, std::string(flag) + "=");
      });
    };
    if (act.kind == "helm" && !has("--version"))
      a.Say(fmt::format("act \"{}\": a helm act pins its chart with --version", act.name));
  }

  Site site_;
  YamlFindings findings_;
  YamlReader reader_;
  std::string_view file_;
};

}  // namespace

Result<Site> ParseSite(std::string_view text, const std::string& path) {
  TRY(const YamlNode root, ParseYaml(text, path));
  if (root.kind != YamlNode::Kind::kMapping)
    return Fail(Code::kInvalid, fmt::format("{}: expected a mapping with kind: Site", path));
  return SiteReader(root, path).Read(root);
}

Result<LoadedSite> ReadSiteFile(Files& files, const std::string& path) {
  TRY(std::string text, files.Read(path, 16u << 20).Context("reading the site file"));
  TRY(Site site, ParseSite(text, path));
  std::string digest = Sha256Hex(text);
  return LoadedSite{std::move(site), path, std::move(text), std::move(digest)};
}

}  // namespace muster
