#include "diagnose/lint/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::lint {

Context::Context(const LintInput& i, const LintRules& r, const LintSite& s,
                 std::vector<LintFinding>& o)
    : input(i), rules(r), site(s), out(o) {
  for (const ManifestFile& file : input.files) {
    texts[file.path] = file.text;
    for (const Document& doc : file.documents) {
      docs.push_back(&doc);
      if (auto w = WorkloadOf(doc)) workloads.push_back(std::move(*w));
    }
  }
  for (const SbatchScript& script : input.scripts) texts[script.path] = script.text;
}

void Context::Say(std::string_view code, const std::string& file, YamlMark at, std::string text,
                  Edits edits) {
  LintFinding finding;
  finding.code = std::string(code);
  finding.file = file;
  finding.at = at;
  finding.text = std::move(text);
  finding.edits = std::move(edits);
  if (const auto rule = rules.by_code.find(code); rule != rules.by_code.end()) {
    finding.severity = rule->second.severity;
    finding.fix = rule->second.fix;
    if (finding.text.empty()) finding.text = rule->second.title;
  }
  out.push_back(std::move(finding));
}
void Context::Say(std::string_view code, const Document& doc, const YamlNode& at, std::string text,
                  Edits edits) {
  Say(code, doc.file, at.at.line > 0 ? at.at : doc.root.at, std::move(text), std::move(edits));
}

std::string_view Context::TextOfFile(const std::string& file) const {
  const auto it = texts.find(file);
  return it == texts.end() ? std::string_view() : it->second;
}
Context::Edits Context::Set(const Document& doc, const YamlNode& scalar,
                            std::string_view value) const {
  return ReplaceScalar(doc.file, TextOfFile(doc.file), scalar, value);
}
Context::Edits Context::Insert(const Document& doc, const YamlNode& mapping,
                               std::string_view entry) const {
  return InsertEntry(doc.file, TextOfFile(doc.file), mapping, entry);
}
Context::Edits Context::Remove(const Document& doc, YamlMark at) const {
  return RemoveLines(doc.file, TextOfFile(doc.file), at);
}

std::vector<const Document*> Context::Of(ManifestKind kind) const {
  std::vector<const Document*> found;
  for (const Document* doc : docs) {
    if (doc->kind == kind) found.push_back(doc);
  }
  return found;
}
const Document* Context::Find(ManifestKind kind, std::string_view name, std::string_view ns) const {
  for (const Document* doc : docs) {
    if (doc->kind == kind && doc->name == name && (ns.empty() || NamespaceOf(*doc) == ns))
      return doc;
  }
  return nullptr;
}
const std::vector<std::string>& Context::List(std::string_view list) const {
  static const std::vector<std::string> kNone;
  const auto it = rules.lists.find(list);
  return it == rules.lists.end() ? kNone : it->second;
}
bool Context::Listed(std::string_view list, std::string_view name) const {
  const auto& all = List(list);
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::string_view NamespaceOf(const Document& doc) {
  return doc.ns.empty() ? std::string_view("default") : std::string_view(doc.ns);
}
bool HasGpu(const Workload& w) {
  return std::any_of(w.sets.begin(), w.sets.end(), [](const PodSet& s) { return PodGpus(s) > 0; });
}
bool UsesKueue(const Document& doc) {
  return !Label(doc.root, "kueue.x-k8s.io/queue-name").IsNull();
}

// ---- command lines ----

namespace {

bool IsShell(std::string_view word) {
  const size_t slash = word.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  return name == "sh" || name == "bash" || name == "dash" || name == "zsh";
}

void SplitScript(const YamlNode& node, std::vector<Word>& into) {
  std::string text;
  const auto flush = [&] {
    if (!text.empty()) into.push_back({text, &node, nullptr, 0});
    text.clear();
  };
  char quote = 0;
  for (size_t i = 0; i < node.text.size(); ++i) {
    const char c = node.text[i];
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        text += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\' && i + 1 < node.text.size() && node.text[i + 1] == '\n') {
      ++i;
    } else if (c == '#' && text.empty()) {
      while (i + 1 < node.text.size() && node.text[i + 1] != '\n') ++i;
    } else if (c == '\n' || c == ';' ||
               (c == '&' && i + 1 < node.text.size() && node.text[i + 1] == '&')) {
      flush();
      into.push_back({";", &node, nullptr, 0});
      if (c == '&') ++i;
    } else if (c == ' ' || c == '\t') {
      flush();
    } else {
      text += c;
    }
  }
  flush();
}

std::string OptionName(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  while (!name.empty() && name[0] == '-') name.erase(0, 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace

const Option* Launch::Find(std::string_view name) const {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}
std::string Launch::Value(std::string_view name) const {
  const Option* option = Find(name);
  return option == nullptr ? "" : option->value;
}

std::vector<Word> WordsOf(const YamlNode& container) {
  std::vector<Word> words;
  bool shell = false, script_next = false;
  for (const char* key : {"command", "args"}) {
    const YamlNode& list = Key(container, key);
    for (size_t i = 0; i < list.items.size(); ++i) {
      const YamlNode& item = list.items[i];
      const std::string& text = TextOf(item);
      if (words.empty() && IsShell(text)) shell = true;
      if (script_next) {
        SplitScript(item, words);
        script_next = false;
        continue;
      }
      words.push_back({text, &item, &list, i});
      if (shell && text.size() > 1 && text[0] == '-' && text[1] != '-' && EndsWith(text, "c"))
        script_next = true;
    }
  }
  return words;
}

std::optional<Launch> TorchrunOf(const YamlNode& container, const Context& context) {
  const std::vector<Word> words = WordsOf(container);
  size_t at = 0;
  for (; at < words.size(); ++at) {
    const std::string& w = words[at].text;
    if (w == "torchrun" || EndsWith(w, "/torchrun") || w == "torch.distributed.run" ||
        w == "torch.distributed.launch") {
      break;
    }
  }
  if (at == words.size()) return std::nullopt;
  Launch launch;
  for (++at; at < words.size(); ++at) {
    const Word& word = words[at];
    if (word.text == ";") break;
    if (word.text.size() < 2 || word.text[0] != '-') {
      launch.script = word;
      break;
    }
    Option option{OptionName(word.text), "", word};
    if (const size_t equals = word.text.find('='); equals != std::string::npos) {
      option.value = word.text.substr(equals + 1);
    } else if (context.Listed("torchrun_options", option.name) && at + 1 < words.size() &&
               words[at + 1].text != ";") {
      option.value = words[++at].text;
    }
    option.value = Expand(container, option.value);
    launch.options.push_back(std::move(option));
  }
  return launch;
}

const YamlNode* EnvOf(const YamlNode& container, std::string_view name) {
  const YamlNode* found = nullptr;
  for (const YamlNode& env : Key(container, "env").items) {
    if (TextOf(Key(env, "name")) == name) found = &Key(env, "value");
  }
  return found;
}

std::string Expand(const YamlNode& container, std::string text) {
  for (const YamlNode& env : Key(container, "env").items) {
    const std::string& name = TextOf(Key(env, "name"));
    const YamlNode& value = Key(env, "value");
    if (name.empty() || value.IsNull() || Contains(value.text, "$")) continue;
    for (const std::string& form : {"$(" + name + ")", "${" + name + "}"}) {
      for (size_t at = text.find(form); at != std::string::npos; at = text.find(form, at))
        text.replace(at, form.size(), value.text);
    }
  }
  return text;
}

// ---- names ----

std::string SubdomainOf(const Workload& w, const PodSet& set) {
  const std::string& said = TextOf(Key(*set.pod, "subdomain"));
  if (!said.empty()) return said;
  if (w.doc->kind == ManifestKind::kJobSet) {
    const std::string& own = TextOf(At(w.doc->root, "spec.network.subdomain"));
    return own.empty() ? w.doc->name : own;
  }
  if (w.doc->kind == ManifestKind::kVolcanoJob) {
    const YamlNode& plugins = At(w.doc->root, "spec.plugins");
    for (const YamlEntry& e : plugins.entries) {
      if (e.key == "svc" || e.key == "pytorch" || e.key == "mpi" || e.key == "tensorflow")
        return w.doc->name;
    }
  }
  return "";
}

std::string Rank0Host(const Workload& w) {
  if (w.sets.empty()) return "";
  const std::string& hostname = TextOf(Key(*w.sets[0].pod, "hostname"));
  switch (w.doc->kind) {
    case ManifestKind::kJob:
      return hostname.empty() ? w.doc->name + "-0" : hostname;
    case ManifestKind::kVolcanoJob:
      return hostname.empty() ? fmt::format("{}-{}-0", w.doc->name, w.sets[0].role) : hostname;
    case ManifestKind::kJobSet:
      return fmt::format("{}-{}-0-0", w.doc->name, w.sets[0].role);
    case ManifestKind::kPytorchJob:
      return w.doc->name + "-master-0";
    default:
      return "";
  }
}

std::optional<Rendezvous> RendezvousOf(const YamlNode& container, const Context& context) {
  if (const auto launch = TorchrunOf(container, context)) {
    for (const char* name : {"rdzv_endpoint", "master_addr"}) {
      const Option* option = launch->Find(name);
      if (option == nullptr || option->value.empty() || Contains(option->value, "$")) continue;
      return Rendezvous{option->value.substr(0, option->value.rfind(':')), option->word.node};
    }
  }
  const YamlNode* env = EnvOf(container, "MASTER_ADDR");
  if (env != nullptr && !env->IsNull() && !Contains(env->text, "$"))
    return Rendezvous{env->text, env};
  return std::nullopt;
}

std::map<std::string, std::string> PodLabels(const Workload& w, const PodSet& set) {
  std::map<std::string, std::string> labels;
  const YamlNode& meta = w.doc->kind == ManifestKind::kPod ? w.doc->root : *set.pod_template;
  for (const YamlEntry& e : At(meta, "metadata.labels").entries) labels[e.key] = TextOf(e.value);
  const std::string& name = w.doc->name;
  switch (w.doc->kind) {
    case ManifestKind::kJob:
      labels["job-name"] = labels["batch.kubernetes.io/job-name"] = name;
      break;
    case ManifestKind::kJobSet:
      labels["jobset.sigs.k8s.io/jobset-name"] = name;
      labels["jobset.sigs.k8s.io/replicatedjob-name"] = set.role;
      break;
    case ManifestKind::kVolcanoJob:
      labels["volcano.sh/job-name"] = name;
      labels["volcano.sh/job-namespace"] = std::string(NamespaceOf(*w.doc));
      labels["volcano.sh/task-spec"] = set.role;
      break;
    case ManifestKind::kPytorchJob:
    case ManifestKind::kMpiJob:
      labels["training.kubeflow.org/job-name"] = name;
      labels["training.kubeflow.org/replica-type"] = ToLower(set.role);
      break;
    default:
      break;
  }
  return labels;
}

Keeps PathIsKept(const Document& doc, const PodSet& set, const YamlNode& container,
                 std::string_view path) {
  if (Contains(path, "://")) return Keeps::kYes;  // an object store
  if (!StartsWith(path, "/") || Contains(path, "$")) return Keeps::kUnknown;
  const YamlNode* best = nullptr;
  size_t longest = 0;
  for (const YamlNode& mount : Key(container, "volumeMounts").items) {
    const std::string& at = TextOf(Key(mount, "mountPath"));
    const bool under = StartsWith(path, at) &&
                       (path.size() == at.size() || EndsWith(at, "/") || path[at.size()] == '/');
    if (!at.empty() && under && at.size() > longest) {
      longest = at.size();
      best = &mount;
    }
  }
  for (const YamlNode& volume : Key(doc.spec(), "volumes").items) {  // Volcano's own claims
    const std::string& at = TextOf(Key(volume, "mountPath"));
    if (!at.empty() && StartsWith(path, at) && at.size() > longest) return Keeps::kYes;
  }
  if (best == nullptr) return Keeps::kNo;
  for (const YamlNode& volume : Key(*set.pod, "volumes").items) {
    if (TextOf(Key(volume, "name")) != TextOf(Key(*best, "name"))) continue;
    return Key(volume, "emptyDir").IsNull() && volume.Find("emptyDir") == nullptr ? Keeps::kYes
                                                                                  : Keeps::kNo;
  }
  return Keeps::kUnknown;
}

}  // namespace muster::lint
