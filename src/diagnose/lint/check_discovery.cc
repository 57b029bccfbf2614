// Whether every rank finds rank 0: Service, selector, subdomain, name, and the race for it.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"

namespace muster::lint {

namespace {

bool Selects(const Document& service, const std::map<std::string, std::string>& labels) {
  const YamlNode& selector = Key(service.spec(), "selector");
  if (selector.entries.empty()) return false;
  return std::all_of(selector.entries.begin(), selector.entries.end(), [&](const YamlEntry& e) {
    const auto it = labels.find(e.key);
    return it != labels.end() && it->second == TextOf(e.value);
  });
}

bool OwnService(const Workload& w) {  // the controller makes it
  return w.doc->kind == ManifestKind::kVolcanoJob || w.doc->kind == ManifestKind::kJobSet ||
         w.doc->kind == ManifestKind::kPytorchJob || w.doc->kind == ManifestKind::kMpiJob ||
         w.doc->kind == ManifestKind::kTrainJob;
}

// Something that waits until a name resolves: an init container or the command itself.
const YamlNode* WaitsFor(const PodSet& set, const YamlNode& container) {
  const auto waits = [](const YamlNode& one) {
    for (const char* key : {"command", "args"}) {
      for (const YamlNode& item : Key(one, key).items) {
        const std::string& text = TextOf(item);
        const bool loops = Contains(text, "until ") || Contains(text, "while ");
        const bool asks = Contains(text, "nslookup") || Contains(text, "getent") ||
                          Contains(text, "gethostbyname") || Contains(text, "getaddrinfo") ||
                          Contains(text, "ping ") || Contains(text, "dig ");
        if (loops && asks) return true;
      }
    }
    return false;
  };
  for (const YamlNode& init : set.InitContainers()) {
    if (waits(init)) return &init;
  }
  return waits(container) ? &container : nullptr;
}

void CheckService(Context& c, const Workload& w, const PodSet& set, const Document& service) {
  const YamlNode& ip = Key(service.spec(), "clusterIP");
  if (TextOf(ip) != "None") {
    c.Say(
        "LINT-202", service, ip.IsNull() ? service.spec() : ip,
        fmt::format("Service {} gives one address for all pods, and no name to each", service.name),
        ip.IsNull() ? c.Insert(service, service.spec(), "clusterIP: None")
                    : c.Set(service, ip, "None"));
  }
  if (!Selects(service, PodLabels(w, set))) {
    Context::Edits fix;
    const YamlNode& selector = Key(service.spec(), "selector");
    if (selector.entries.size() == 1 && w.doc->kind == ManifestKind::kJob &&
        EndsWith(selector.entries[0].key, "job-name"))
      fix = c.Set(service, selector.entries[0].value, w.doc->name);
    c.Say("LINT-203", service, Key(service.spec(), "selector"),
          fmt::format("the selector of Service {} does not fit the pods of {}", service.name,
                      w.doc->Title()),
          std::move(fix));
  }
}

void CheckContainer(Context& c, const Workload& w, const PodSet& set, const YamlNode& container,
                    const Rendezvous& rendezvous) {
  const Document& doc = *w.doc;
  const std::string host = rendezvous.host;
  const bool is_address =
      host.find_first_not_of("0123456789.") == std::string::npos || host == "localhost";
  if (is_address) return;
  const std::string name = host.substr(0, host.find('.'));
  const std::string rest =
      host.find('.') == std::string::npos ? "" : host.substr(host.find('.') + 1);
  const std::string service_name = rest.substr(0, rest.find('.'));
  const std::string subdomain = SubdomainOf(w, set);
  const std::string rank0 = Rank0Host(w);
  const bool indexed =
      doc.kind != ManifestKind::kJob || TextOf(At(doc.root, "spec.completionMode")) == "Indexed";
  const bool by_service =
      rest.empty() && c.Find(ManifestKind::kService, name, NamespaceOf(doc)) != nullptr;
  const bool wrong_host = !rank0.empty() && indexed && name != rank0 && !by_service;
  const bool wrong_domain = !rest.empty() && !subdomain.empty() && service_name != subdomain;
  if (wrong_host || wrong_domain || (rest.empty() && !by_service && !subdomain.empty())) {
    const std::string right = fmt::format("{}.{}", rank0.empty() ? name : rank0, subdomain);
    Context::Edits fix;
    if (!subdomain.empty() && rendezvous.at->kind == YamlNode::Kind::kScalar) {
      std::string text = rendezvous.at->text;
      const size_t at = text.find(host);
      const bool plain = text.find_first_of("\n\"'\\") == std::string::npos;
      if (at != std::string::npos && plain && !subdomain.empty()) {
        text.replace(at, host.size(), right);
        fix = c.Set(doc, *rendezvous.at, "\"" + text + "\"");
      }
    }
    c.Say("LINT-204", doc, *rendezvous.at,
          fmt::format("{} is no name of rank 0{}", host,
                      subdomain.empty() ? "" : ", which is " + right),
          std::move(fix));
    return;
  }
  if (!rest.empty() && subdomain.empty() && !OwnService(w)) {
    c.Say("LINT-208", doc, *set.pod,
          fmt::format("{} needs pods with subdomain: {}", host, service_name),
          c.Insert(doc, *set.pod, "subdomain: " + service_name));
    return;
  }
  const Document* service =
      rest.empty() ? nullptr : c.Find(ManifestKind::kService, service_name, NamespaceOf(doc));
  if (service == nullptr && !OwnService(w) && !by_service) {
    c.Say("LINT-201", doc, *rendezvous.at,
          fmt::format("no Service {} in namespace {} in these files",
                      service_name.empty() ? name : service_name, NamespaceOf(doc)));
    return;
  }
  if (service != nullptr) CheckService(c, w, set, *service);
  const bool publishes =
      service == nullptr ? OwnService(w) : IsTrue(Key(service->spec(), "publishNotReadyAddresses"));
  const YamlNode* waits = WaitsFor(set, container);
  if (!publishes && service != nullptr) {
    const bool init = waits != nullptr && waits != &container;
    c.Say(init ? "LINT-207" : "LINT-205", *service, service->spec(),
          init ? fmt::format("an init container of {} waits for a name that Service {} publishes "
                             "only when the pod is ready",
                             doc.Title(), service->name)
               : fmt::format("Service {} publishes a rank's name only once the pod is ready",
                             service->name),
          c.Insert(*service, service->spec(), "publishNotReadyAddresses: true"));
  }
  if (waits == nullptr && !OwnService(w)) {
    c.Say(
        "LINT-206", doc, *rendezvous.at,
        fmt::format("nothing waits until {} resolves; a rank that asks too early may fail at once",
                    host));
  }
}

}  // namespace

void CheckDiscovery(Context& c) {
  for (const Workload& w : c.workloads) {
    if (!w.IsGang()) continue;
    for (const PodSet& set : w.sets) {
      const YamlNode& host_network = Key(*set.pod, "hostNetwork");
      bool names = false;
      for (const YamlNode& container : set.Containers()) {
        if (const auto rendezvous = RendezvousOf(container, c)) {
          names = true;
          CheckContainer(c, w, set, container, *rendezvous);
        }
        const YamlNode* world = EnvOf(container, "WORLD_SIZE");
        if (world != nullptr && !world->IsNull() && IntOf(*world, 0) > 0) {
          const int64_t pods = w.PodCount(), gpus = std::max<int64_t>(1, ContainerGpus(container));
          const int64_t said = IntOf(*world, 0);
          if (said != pods && said != pods * gpus) {
            c.Say("LINT-211", *w.doc, *world,
                  fmt::format("WORLD_SIZE {}, with {} pods of {} GPUs", said, pods, gpus),
                  c.Set(*w.doc, *world, fmt::format("\"{}\"", pods * gpus)));
          }
        }
      }
      if (IsTrue(host_network) && names &&
          TextOf(Key(*set.pod, "dnsPolicy")) != "ClusterFirstWithHostNet") {
        c.Say("LINT-209", *w.doc, host_network, "",
              Key(*set.pod, "dnsPolicy").IsNull()
                  ? c.Insert(*w.doc, *set.pod, "dnsPolicy: ClusterFirstWithHostNet")
                  : c.Set(*w.doc, Key(*set.pod, "dnsPolicy"), "ClusterFirstWithHostNet"));
      }
    }
  }
}

void CheckLaunch(Context& c) {
  for (const Workload& w : c.workloads) {
    // Only pods that torchrun starts are nodes of its rendezvous; servers beside them are not.
    const int64_t pods = w.PodCount();
    int64_t launched = 0;
    for (const PodSet& set : w.sets) {
      const auto& all = set.Containers();
      const bool launches = std::any_of(all.begin(), all.end(), [&](const YamlNode& container) {
        return TorchrunOf(container, c).has_value();
      });
      launched += launches ? set.count : 0;
    }
    for (const PodSet& set : w.sets) {
      for (const YamlNode& container : set.Containers()) {
        const auto launch = TorchrunOf(container, c);
        if (!launch) continue;
        const Document& doc = *w.doc;
        for (const Option& o : launch->options) {
          if (c.Listed("torchrun_options", o.name) || c.Listed("torchrun_flags", o.name)) continue;
          if (o.name == "c") {
            Context::Edits fix;
            if (o.word.list != nullptr) {
              const std::string_view text = c.TextOfFile(doc.file);
              fix = InsertItem(doc.file, text, *o.word.list, o.word.index, "\"python\"");
              auto first =
                  InsertItem(doc.file, text, *o.word.list, o.word.index, "\"--no-python\"");
              if (!fix.empty() && !first.empty()) fix[0].text = first[0].text + fix[0].text;
            }
            c.Say("LINT-221", doc, *o.word.node,
                  "torchrun has no -c: it starts a script, not a text", std::move(fix));
            continue;
          }
          const auto near = Nearest(o.name, c.List("torchrun_options"));
          c.Say("LINT-221", doc, *o.word.node,
                fmt::format("torchrun takes no {}{}", Shorten(o.word.text, 40),
                            near ? fmt::format("; --{} is meant?", *near) : ""));
        }
        const auto nnodes = ParseInt(launch->Value("nnodes"));
        if (nnodes.ok() && *nnodes != pods && *nnodes != launched && w.IsGang()) {
          const Option& o = *launch->Find("nnodes");
          Context::Edits fix;
          if (o.word.list != nullptr && Contains(o.word.text, "="))
            fix = c.Set(doc, *o.word.node, fmt::format("\"--nnodes={}\"", pods));
          c.Say("LINT-222", doc, *o.word.node,
                fmt::format("--nnodes={}, and the job has {} pods", *nnodes, pods), std::move(fix));
        }
        const int64_t gpus = ContainerGpus(container);
        const auto nproc = ParseInt(launch->Value("nproc_per_node"));
        if (nproc.ok() && gpus > 0 && *nproc != gpus) {
          const Option& o = *launch->Find("nproc_per_node");
          Context::Edits fix;
          if (o.word.list != nullptr && Contains(o.word.text, "="))
            fix = c.Set(doc, *o.word.node, fmt::format("\"--nproc_per_node={}\"", gpus));
          c.Say(*nproc > gpus ? "LINT-223" : "LINT-224", doc, *o.word.node,
                fmt::format("{} processes and {} GPUs in a pod", *nproc, gpus), std::move(fix));
        }
        const std::string backend = launch->Value("rdzv_backend");
        const Option* standalone = launch->Find("standalone");
        if (pods <= 1 || !w.IsGang()) continue;
        if (standalone != nullptr) {
          c.Say("LINT-227", doc, *standalone->word.node,
                fmt::format("--standalone in {} pods: each trains alone", pods));
          continue;
        }
        if (backend == "c10d" && launch->Find("node_rank") != nullptr) {
          const Option& o = *launch->Find("node_rank");
          Context::Edits fix;
          if (o.word.list != nullptr && Contains(o.word.text, "="))
            fix = c.Remove(doc, o.word.node->at);
          c.Say("LINT-225", doc, *o.word.node, "", std::move(fix));
        }
        if (backend == "c10d" && launch->Find("rdzv_id") == nullptr) {
          const Option& o = *launch->Find("rdzv_backend");
          Context::Edits fix;
          if (o.word.list != nullptr && Contains(o.word.text, "=")) {
            fix = InsertItem(doc.file, c.TextOfFile(doc.file), *o.word.list, o.word.index,
                             fmt::format("\"--rdzv_id={}\"", doc.name));
          }
          c.Say("LINT-226", doc, *o.word.node, "", std::move(fix));
        }
        if (launch->Find("rdzv_endpoint") == nullptr && launch->Find("master_addr") == nullptr &&
            EnvOf(container, "PET_RDZV_ENDPOINT") == nullptr &&
            EnvOf(container, "PET_MASTER_ADDR") == nullptr &&
            doc.kind != ManifestKind::kPytorchJob && doc.kind != ManifestKind::kTrainJob) {
          c.Say("LINT-228", doc, container,
                fmt::format("{} pods and no rendezvous endpoint: each waits on itself", pods));
        }
        if (launch->script && StartsWith(launch->script->text, "/")) {
          bool mounted = false;
          for (const YamlNode& mount : Key(container, "volumeMounts").items) {
            const std::string& at = TextOf(Key(mount, "mountPath"));
            mounted |= !at.empty() && StartsWith(launch->script->text, at);
          }
          for (const YamlNode& volume : Key(doc.spec(), "volumes").items)
            mounted |= StartsWith(launch->script->text, TextOf(Key(volume, "mountPath")));
          const std::string& image = TextOf(Key(container, "image"));
          const bool upstream =
              std::any_of(c.List("upstream_images").begin(), c.List("upstream_images").end(),
                          [&](const std::string& name) {
                            return StartsWith(image, name + ":") || StartsWith(image, name + "@");
                          });
          if (!mounted && upstream) {
            c.Say("LINT-229", doc, *launch->script->node,
                  fmt::format("{} is in no volume of the pod, and {} does not have it",
                              launch->script->text, image.substr(0, image.find_first_of(":@"))));
          }
        }
      }
    }
  }
}

}  // namespace muster::lint
