// Private to src/diagnose/lint: what every check sees, and how it speaks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/lint/lint.h"
#include "manifest/workloads.h"

namespace muster::lint {

// A word of a container's command line, and the node that holds it: a list item, or a whole shell
// script of many words.
struct Word {
  std::string text;
  const YamlNode* node = nullptr;
  const YamlNode* list = nullptr;  // the args or command it is an item of; nullptr inside a script
  size_t index = 0;
};
struct Option {
  std::string name;  // "rdzv_endpoint"
  std::string value;
  Word word;
};
// How a container starts torchrun.
struct Launch {
  std::vector<Option> options;
  std::optional<Word> script;
  const Option* Find(std::string_view name) const;
  std::string Value(std::string_view name) const;
};

struct Context {
  const LintInput& input;
  const LintRules& rules;
  const LintSite& site;
  std::vector<LintFinding>& out;
  std::vector<Workload> workloads;
  std::vector<const Document*> docs;
  std::map<std::string, std::string_view, std::less<>> texts;  // of files, by path

  Context(const LintInput& input, const LintRules& rules, const LintSite& site,
          std::vector<LintFinding>& out);

  using Edits = std::vector<TextEdit>;
  void Say(std::string_view code, const std::string& file, YamlMark at, std::string text,
           Edits edits = {});
  void Say(std::string_view code, const Document& doc, const YamlNode& at, std::string text,
           Edits edits = {});
  std::string_view TextOfFile(const std::string& file) const;
  // Repairs, of the document's file.
  Edits Set(const Document& doc, const YamlNode& scalar, std::string_view value) const;
  Edits Insert(const Document& doc, const YamlNode& mapping, std::string_view entry) const;
  Edits Remove(const Document& doc, YamlMark at) const;

  // Documents of a kind; `ns` compares namespaces, "" meaning default.
  std::vector<const Document*> Of(ManifestKind kind) const;
  const Document* Find(ManifestKind kind, std::string_view name, std::string_view ns) const;
  bool Listed(std::string_view list, std::string_view name) const;
  const std::vector<std::string>& List(std::string_view list) const;
};

std::string_view NamespaceOf(const Document& doc);  // "default" where none is said
bool HasGpu(const Workload& w);
bool UsesKueue(const Document& doc);

// command and args in order; a shell script after `sh -c` is split into words.
std::vector<Word> WordsOf(const YamlNode& container);
std::optional<Launch> TorchrunOf(const YamlNode& container, const Context& context);
// The value of a variable that the manifest itself gives; nullptr when it is not there.
const YamlNode* EnvOf(const YamlNode& container, std::string_view name);  // its value node
// Fills in $(VAR) and ${VAR} from the container's own env; what is not known stays.
std::string Expand(const YamlNode& container, std::string text);
// The name of rank 0's pod ("ddp-0"), and its Service; empty where the dialect has no fixed name.
std::string Rank0Host(const Workload& w);
std::string SubdomainOf(const Workload& w, const PodSet& set);
// The rendezvous host that the launch or MASTER_ADDR names, without port; empty = none, or not
// written in the manifest.
struct Rendezvous {
  std::string host;
  const YamlNode* at = nullptr;
};
std::optional<Rendezvous> RendezvousOf(const YamlNode& container, const Context& context);
// Labels that pods of the workload will carry, those of controllers included.
std::map<std::string, std::string> PodLabels(const Workload& w, const PodSet& set);
// Whether a path lies on a volume that outlives the pod.
enum class Keeps { kYes, kNo, kUnknown };
Keeps PathIsKept(const Document& doc, const PodSet& set, const YamlNode& container,
                 std::string_view path);

void CheckFields(Context& context);
void CheckGang(Context& context);
void CheckIndexedJobs(Context& context);
void CheckDiscovery(Context& context);
void CheckLaunch(Context& context);
void CheckNetwork(Context& context);
void CheckShape(Context& context);
void CheckPods(Context& context);
void CheckEnv(Context& context);
void CheckKueue(Context& context);
void CheckKubelet(Context& context);
void CheckSbatch(Context& context);

}  // namespace muster::lint
