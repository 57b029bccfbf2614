#include "app/site_looker.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/strings.h"
#include "plan/support.h"
#include "plan/templates.h"

namespace muster {

namespace {

using engine::Looked;

// Then it is opened anew: a kubeconfig's token may have been exchanged, an address have moved.
constexpr Duration kKeptFor = std::chrono::minutes(1);

Looked Unknown(std::string why) { return {Level::kUnknown, std::move(why), ""}; }

// A GPU's runbook asks of that GPU, and of what else its node has; other GPUs are not its matter.
bool Concerns(const Subject& subject, const Subject& on) {
  // What a gang on this node alone showed is called the site's.
  if (subject.kind == SubjectKind::kSite) return true;
  if (subject.Host() != on.Host()) return false;
  if (on.kind != SubjectKind::kGpu || subject.kind != SubjectKind::kGpu) return true;
  return subject == on;
}

// A gate between nodes needs others: the next of the site. One pair alone has nothing to be slower
// than, so collectives are held against two.
std::vector<std::string> NodesFor(const Site& site, int gate, const std::string& node) {
  std::vector<std::string> nodes = {node};
  const size_t wanted = gate == 6 ? 3 : gate == 2 || gate > 6 ? 2 : 1;
  for (const Node& other : site.cluster.nodes) {
    if (nodes.size() == wanted) break;
    if (other.name != node) nodes.push_back(other.name);
  }
  return nodes;
}

// What must be the same on all nodes says nothing of one node alone: it is held against others, on
// large sites against some.
constexpr size_t kPeers = 32;
std::vector<std::string> PeersOf(const Site& site, const std::string& node) {
  std::vector<std::string> nodes = {node};
  for (const Node& other : site.cluster.nodes) {
    if (nodes.size() > kPeers) break;
    if (other.name != node) nodes.push_back(other.name);
  }
  return nodes;
}

// Only the level-3 diagnostic is a proof among the criteria of gate 3, and the gangs among those of
// gate 4; asked for by its code it is run.
bool TakesAProof(const std::vector<const Criterion*>& criteria) {
  return std::any_of(criteria.begin(), criteria.end(), [](const Criterion* c) {
    return StartsWith(c->fact, "dcgm.") || StartsWith(c->fact, "gang.") || c->gate >= 5;
  });
}

// Gates 5 and 8 are looked at through servers that a lab starts for them.
bool StartsServers(const Catalogue* catalogue, const Check& check) {
  if (check.form == Check::Form::kGate) return check.gate >= 5;
  return std::any_of(check.criteria.begin(), check.criteria.end(), [&](const std::string& code) {
    const Criterion* criterion = catalogue->Find(code);
    return criterion != nullptr && criterion->gate >= 5;
  });
}

Value ValueAs(const Value& value, FactType type) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* real = std::get_if<double>(&value);
  if (type == FactType::kInt && real != nullptr) return static_cast<int64_t>(*real);
  if (type == FactType::kText && real != nullptr) return fmt::format("{:g}", *real);
  if (type == FactType::kReal && text != nullptr) {
    if (const auto number = ParseDouble(*text); number.ok()) return *number;
  }
  return value;
}

}  // namespace

int GateOfFact(const Catalogue& catalogue, std::string_view fact) {
  int gate = 3;
  for (const muster::Criterion& criterion : catalogue.criteria) {
    if (criterion.fact == fact) gate = criterion.gate;
  }
  return gate;
}

SiteLooker::SiteLooker(std::string site_file, World world, OpenOptions options, std::string run,
                       std::string evidence_folder)
    : site_file_(std::move(site_file)),
      world_(world),
      options_(std::move(options)),
      run_(std::move(run)),
      folder_(std::move(evidence_folder)) {}

std::string SiteLooker::StampOf(SiteKind kind, const std::string& lab_dir) const {
  const SitePaths paths = PathsOf(site_file_);
  std::vector<std::string> read = {site_file_};
  if (kind == SiteKind::kLab) read.push_back(paths.folder + "/" + lab_dir + "/lab.json");
  std::string stamp;
  for (const std::string& path : read) {
    const auto text = world_.files.Read(path, 16u << 20);
    if (!text.ok()) return "";  // opening it says what is wrong
    stamp += Sha256Hex(*text);
  }
  return stamp;
}

void SiteLooker::Seen(int gate, Observations all) {
  seen_gate_ = gate;
  for (Observation& o : all) {
    std::string host(o.subject.Host());
    seen_[std::move(host)].push_back(std::move(o));
  }
}

Result<SiteContext*> SiteLooker::Site() {
  if (opened_ && seen_gate_ != 0) return &opened_->site;
  const TimePoint now = world_.clock.Now();
  if (opened_) {
    const muster::Site& site = opened_->site.site();
    const bool recent = now >= opened_->at && now - opened_->at < kKeptFor;
    if (recent && !opened_->stamp.empty() && StampOf(site.kind, site.lab_dir) == opened_->stamp)
      return &opened_->site;
    opened_.reset();
  }
  // Stamped first: what changes in between makes the next look open it again.
  TRY(const LoadedSite loaded, ReadSiteFile(world_.files, site_file_));
  std::string stamp = StampOf(loaded.site.kind, loaded.site.lab_dir);
  TRY(SiteContext site, OpenSite(site_file_, world_, options_));
  ++opens_;
  opened_.emplace(OpenedSite{std::move(stamp), now, std::move(site), {}});
  return &opened_->site;
}

std::string SiteLooker::Store(const std::string& text) {
  const std::string digest = Sha256Hex(text);
  if (folder_.empty()) return digest;
  const std::string path = folder_ + "/" + digest + ".txt";
  if (!world_.files.Stat(path).ok() && world_.files.MakeFolders(folder_).ok())
    (void)world_.files.WriteAtomic(path, text);
  return digest;
}

Looked SiteLooker::Keep(const Action& action, const TemplateValues&) {
  if (action.kind == ActKind::kNotify) {
    const auto text = action.params.find("text"), whom = action.params.find("whom");
    if (text == action.params.end() || whom == action.params.end())
      return Unknown("nobody to tell");
    return {Level::kPass, fmt::format("for {}: {}", whom->second, text->second), ""};
  }
  const auto site = Site();
  if (!site.ok()) return Unknown(site.error().ToString());
  SilentProgress silent;
  std::string text;
  for (const int gate : {3, 4}) {
    const Evidence evidence =
        LookAtGate(**site, gate, {std::string(action.on.Host())}, run_, false, true, silent);
    for (const Reading& reading : evidence.readings)
      text += fmt::format("--- {} on {} at {}\n{}{}\n", reading.command, reading.host,
                          FormatTime(reading.at), reading.text,
                          reading.fault ? "(" + reading.fault->detail + ")" : "");
  }
  return {Level::kPass, fmt::format("{} bytes of readings are kept", text.size()), Store(text)};
}

Looked SiteLooker::Look(const Check& check, const Subject& on, const TemplateValues& values) {
  if (check.form == Check::Form::kAttest) return Unknown("a person has not said: " + check.attest);
  const auto site = Site();
  if (!site.ok()) return Unknown(site.error().ToString());
  Looked looked = LookAt(**site, check, on, values);
  // What a proof started, a Prometheus or a server, ends with the look.
  if (StartsServers((*site)->catalogue, check)) opened_.reset();
  return looked;
}

Looked SiteLooker::LookAt(SiteContext& site, const Check& check, const Subject& on,
                          const TemplateValues& values) {
  switch (check.form) {
    case Check::Form::kCriteria:
      return Criteria(site, check, on);
    case Check::Form::kGate:
      return WholeGate(site, check.gate, on);
    case Check::Form::kFact:
      return Fact(site, check, on, values);
    case Check::Form::kCommand:
      return Command(site, check, on, values);
    case Check::Form::kBuiltin:
      if (check.builtin == "lights_out" && site.actuator != nullptr) {
        const auto can = site.actuator->Can();
        if (std::find(can.begin(), can.end(), ActKind::kPowerCycle) == can.end())
          return {Level::kFail, "no way to switch its power", ""};
        // Of this very node, now: a controller that does not answer is no way out.
        const auto power =
            site.actuator->Before({ActKind::kPowerCycle, NodeSubject(std::string(on.Host())), {}});
        return {power.ok() ? Level::kPass : Level::kFail,
                power.ok() ? "its power can be switched from beside it"
                           : "no way to switch its power: " + power.error().ToString(),
                ""};
      }
      if (check.builtin == "supported") return Supported(site, on, values);
      return Unknown("not looked at here: " + check.builtin);
    case Check::Form::kAttest:
      break;
  }
  return Unknown("not looked at here");
}

// What the run comes to: the driver that it is given, else the one that runs; the node's kernel;
// the operator, Kubernetes and CUDA that the site pins.
Looked SiteLooker::Supported(SiteContext& site, const Subject& on, const TemplateValues& values) {
  const std::string own = site.paths.folder + "/support.yaml";
  const auto text = world_.files.Read(own, 1 << 20);
  if (!text.ok() && text.error().code != Code::kNotFound) return Unknown(text.error().ToString());
  const auto matrix = text.ok() ? ParseSupport(*text, own) : EmbeddedSupport();
  if (!matrix.ok()) return Unknown(matrix.error().message);
  std::map<std::string, std::string> versions;
  SilentProgress silent;
  const Evidence evidence =
      LookAtGate(site, 3, {std::string(on.Host())}, run_, false, true, silent);
  for (const Observation& o : evidence.All()) {
    if (o.subject != NodeSubject(on.Host()) || o.value() == nullptr) continue;
    if (o.fact == "node.driver_version") versions["driver"] = FormatValue(*o.value(), o.unit);
    if (o.fact == "node.kernel") versions["kernel"] = FormatValue(*o.value(), o.unit);
    if (o.fact == "node.os") versions["os"] = FormatValue(*o.value(), o.unit);
  }
  if (const auto driver = values.find("driver"); driver != values.end())
    versions["driver"] = driver->second;
  const std::pair<const char*, const char*> pins[] = {
      {"gpu_operator", "operator"}, {"kubernetes", "kubernetes"}, {"cuda", "cuda"}};
  for (const auto& [pin, part] : pins) {
    if (const auto it = site.site().pins.find(pin); it != site.site().pins.end())
      versions[part] = it->second;
  }
  const SupportAnswer answer = AskSupport(*matrix, versions, world_.clock.Now());
  return {answer.level, answer.text, Store(Join(answer.lines, "\n") + "\n" + matrix->source)};
}

Looked SiteLooker::Sum(std::span<const Verdict> verdicts, const Evidence* evidence) {
  Looked looked;
  looked.level = Combine(verdicts);
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text += fmt::format("{} {} {}: {}\n", ToString(verdict.level), verdict.code,
                        verdict.subject.ToString(), verdict.text);
    origin_ = std::max(origin_, verdict.origin);
    const bool says = looked.level != Level::kPass && verdict.level == looked.level;
    if (says && looked.text.empty())
      looked.text =
          fmt::format("{} {}: {}", verdict.code, verdict.subject.ToString(), verdict.text);
  }
  if (looked.text.empty())
    looked.text =
        verdicts.empty() ? "nothing was judged" : fmt::format("{} verdicts pass", verdicts.size());
  for (size_t i = 0; evidence != nullptr && i < evidence->readings.size(); ++i)
    text += fmt::format("\n--- {} on {}\n{}\n", evidence->readings[i].command,
                        evidence->readings[i].host, evidence->readings[i].text);
  looked.evidence = Store(text);
  return looked;
}

Looked SiteLooker::Criteria(SiteContext& site, const Check& check, const Subject& on) {
  std::map<int, std::vector<const Criterion*>> by_gate;
  for (const std::string& code : check.criteria) {
    const Criterion* criterion = site.catalogue->Find(code);
    if (criterion == nullptr) return Unknown("no such criterion: " + code);
    by_gate[criterion->gate].push_back(criterion);
  }
  const std::string node(on.Host());
  std::vector<Verdict> verdicts;
  Evidence all;
  for (const auto& [gate, criteria] : by_gate) {
    SilentProgress silent;
    const bool proof = TakesAProof(criteria);
    const bool held_to_fleet =
        !proof && std::any_of(criteria.begin(), criteria.end(),
                              [](const Criterion* c) { return c->measure == Measure::kAllEqual; });
    const auto nodes =
        held_to_fleet ? PeersOf(site.site(), node) : NodesFor(site.site(), gate, node);
    Evidence evidence = LookAtGate(site, gate, nodes, run_, proof, true, silent);
    const GateResult result = JudgeGate(site, gate, nodes, evidence, world_.clock.Now());
    for (const Criterion* criterion : criteria) {
      for (const Verdict& verdict : result.verdicts) {
        if (verdict.code == criterion->code && Concerns(verdict.subject, on))
          verdicts.push_back(verdict);
      }
    }
    all.Append(std::move(evidence));
  }
  // What does not apply here (no NVLink, no pinned UUIDs) was decided before looking.
  if (verdicts.empty()) {
    std::string why;
    const std::vector<std::string> only = {node};
    for (const auto& [gate, criteria] : by_gate) {
      for (const auto& skipped :
           Applicable(*site.catalogue, site.site(), gate, only).not_applicable) {
        for (const Criterion* criterion : criteria) {
          if (skipped.criterion->code == criterion->code) why += skipped.reason + " ";
        }
      }
    }
    if (!why.empty()) return {Level::kPass, "does not apply here: " + why, ""};
  }
  return Sum(verdicts, &all);
}

Looked SiteLooker::WholeGate(SiteContext& site, int gate, const Subject& on) {
  SilentProgress silent;
  const auto nodes = NodesFor(site.site(), gate, std::string(on.Host()));
  Evidence evidence;
  // A lab's endpoint serves what a run trained: this one has trained nothing yet.
  if (gate == 8 && site.site().kind == SiteKind::kLab)
    evidence = LookAtGate(site, 7, nodes, run_, true, true, silent);
  evidence.Append(LookAtGate(site, gate, nodes, run_, true, true, silent));
  const GateResult result = JudgeGate(site, gate, nodes, evidence, world_.clock.Now());
  std::vector<Verdict> verdicts;
  for (const Verdict& verdict : result.verdicts) {
    if (nodes.size() > 1 || verdict.subject.Host() == on.Host()) verdicts.push_back(verdict);
  }
  return Sum(verdicts, &evidence);
}

Looked SiteLooker::Fact(SiteContext& site, const Check& check, const Subject& on,
                        const TemplateValues& values) {
  const FactInfo* info = site.catalogue->Fact(check.fact);
  if (info == nullptr) return Unknown("no such fact: " + check.fact);
  const int gate = GateOfFact(*site.catalogue, check.fact);
  muster::Criterion criterion;
  criterion.code = "RUN-001";
  criterion.gate = gate;
  criterion.title = check.ToString();
  criterion.subject = info->on;
  criterion.fact = check.fact;
  criterion.compare = check.compare;
  criterion.pass.unit = info->unit;
  for (const Value& value : check.values) {
    Value filled = value;
    if (const auto* text = std::get_if<std::string>(&value)) {
      auto done = FillTemplate(*text, values);
      if (!done.ok()) return Unknown(done.error().message);
      filled = *done;
    }
    criterion.pass.values.push_back(ValueAs(filled, info->type));
  }
  SilentProgress silent;
  const std::string node(on.Host());
  const auto seen = gate == seen_gate_ ? seen_.find(node) : seen_.end();
  Evidence evidence;
  if (seen == seen_.end())
    evidence = LookAtGate(site, gate, NodesFor(site.site(), gate, node), run_,
                          StartsWith(check.fact, "dcgm."), true, silent);
  const Observations observations = seen == seen_.end() ? evidence.All() : seen->second;
  const ObservationIndex index(observations);
  std::vector<Subject> subjects;
  if (info->on == SubjectKind::kNode) {
    subjects.push_back(NodeSubject(node));
  } else {
    for (const Subject& subject : index.SubjectsWith(info->on, check.fact)) {
      if (Concerns(subject, on)) subjects.push_back(subject);
    }
  }
  std::vector<Verdict> verdicts;
  if (!opened_->expect) opened_->expect = MakeExpectation(site.site(), *site.catalogue);
  for (const Subject& subject : subjects)
    verdicts.push_back(Judge(criterion, subject, index, *opened_->expect, world_.clock.Now()));
  return Sum(verdicts, &evidence);
}

Looked SiteLooker::Command(SiteContext& site, const Check& check, const Subject& on,
                           const TemplateValues& values) {
  muster::Command command;
  for (const std::string& word : check.argv) {
    auto filled = FillTemplate(word, values);
    if (!filled.ok()) return Unknown(filled.error().message);
    command.argv.push_back(*filled);
  }
  auto contains = FillTemplate(check.contains, values);
  if (!contains.ok()) return Unknown(contains.error().message);
  command.timeout = check.timeout;
  auto host = site.hosts->At(on.Host());
  if (!host.ok()) return Unknown(host.error().ToString());
  origin_ = std::max(origin_, site.hosts->origin());
  const auto ran = host->world.processes.Run(command);
  if (!ran.ok()) return Unknown(ran.error().ToString());
  const std::string text = ran->out + ran->err;
  Looked looked;
  looked.evidence = Store(command.ToString() + "\n" + text);
  if (ran->timed_out || ran->truncated) {
    looked.text = ran->timed_out ? "no end within its time" : "its output was cut";
    return looked;
  }
  const bool pass = ran->exit_code == check.exit_code && Contains(ran->out, *contains);
  looked.level = pass ? Level::kPass : Level::kFail;
  looked.text = fmt::format("`{}` exits {}: {}", command.ToString(), ran->exit_code,
                            Shorten(Printable(Trim(text)), 160));
  return looked;
}

}  // namespace muster
