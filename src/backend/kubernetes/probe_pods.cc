#include "backend/kubernetes/probe_pods.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/strings.h"
#include "kube/core.h"
#include "kube/stream_reader.h"

namespace muster::kubernetes {

namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr const char* kSiteLabel = "muster.dev/probe-site";
constexpr const char* kRunLabel = "muster.dev/probe-run";
std::string SiteMark(const std::string& site) { return Sha256Hex(site).substr(0, 12); }

}  // namespace

std::string ProbePodJson(const ProbePodsOptions& options, const std::string& run,
                         const std::string& name, const std::string& node,
                         const std::vector<std::string>& words, int64_t deadline_s) {
  json container = {{"name", "main"},
                    {"image", options.site.image},
                    {"imagePullPolicy", "IfNotPresent"},
                    {"command", words},
                    {"env",
                     {{{"name", "MUSTER_NODE"},
                       {"valueFrom", {{"fieldRef", {{"fieldPath", "spec.nodeName"}}}}}}}},
                    {"securityContext", {{"privileged", true}}},
                    {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}}}};
  return json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", name},
                {"namespace", options.site.ns},
                {"labels",
                 {{std::string(kProbeLabel), "true"},
                  {kSiteLabel, SiteMark(options.site_name)},
                  {kRunLabel, run},
                  {"owner", "muster"}}},
                {"annotations", options.site.annotations}}},
              {"spec",
               {{"nodeName", node},
                {"restartPolicy", "Never"},
                {"activeDeadlineSeconds", deadline_s},
                {"terminationGracePeriodSeconds", 1},
                {"hostPID", true},
                {"hostNetwork", true},
                {"automountServiceAccountToken", false},
                {"enableServiceLinks", false},
                {"tolerations", json::array({{{"operator", "Exists"}}})},
                {"containers", json::array({container})}}}}
      .dump();
}

ProbePods::ProbePods(kube::Client& client, std::mutex& client_mutex, Files& files,
                     ProbePodsOptions options)
    : client_(client),
      client_mutex_(client_mutex),
      files_(files),
      options_(std::move(options)),
      run_(fmt::format("{:016x}", client.random().Next())) {}

ProbePods::~ProbePods() { static_cast<void>(Remove().ok()); }

std::string ProbePods::Own() const { return fmt::format("{}={}", kRunLabel, run_); }

Result<std::string> ProbePods::Ask(kube::Request request) {
  request.patience = seconds(20);
  const std::lock_guard lock(client_mutex_);
  return client_.Ask(std::move(request));
}

Result<std::vector<std::string>> ProbePods::Labelled(const std::string& selector) {
  TRY(const std::string body, Ask(kube::List(kube::kPods, options_.site.ns, {selector, {}})));
  std::vector<std::string> names;
  TRY_VOID(kube::ReadList(body, [&](std::string_view text) -> Status {
    TRY(const kube::Pod pod, kube::DecodePod(text));
    names.push_back(pod.meta.name);
    return {};
  }));
  return names;
}

Status ProbePods::Delete(const std::string& pod) {
  kube::Request request = kube::Delete(kube::kPods, options_.site.ns, pod, {}, 1);
  request.patience = seconds(20);
  const std::lock_guard lock(client_mutex_);
  const kube::Answer answer = client_.Await(std::move(request));
  if (answer.ok() || answer.status == 404) return {};
  return Fail(*answer.error);
}

// With the lock held nobody of this machine has pods of this site out: what carries its label is
// left over.
Status ProbePods::Sweep() {
  const std::string selector =
      fmt::format("{}=true,{}={}", kProbeLabel, kSiteLabel, SiteMark(options_.site_name));
  TRY(std::vector<std::string> left, Labelled(selector));
  for (const std::string& name : left) TRY_VOID(Delete(name));
  const Duration until = Now() + options_.until_gone;
  while (!left.empty()) {
    if (Now() >= until)
      return Fail(Code::kTimeout, "earlier probe pods do not go: " + Join(left, ", "));
    client_.clock().SleepFor(options_.every);
    TRY(left, Labelled(selector));
  }
  return {};
}

// Once for this object: alone, and nothing of an earlier look is there.
Status ProbePods::Prepare() {
  const std::lock_guard lock(mutex_);
  if (prepared_) return *prepared_;
  const auto prepare = [&]() -> Status {
    TRY_VOID(files_.MakeFolders(options_.state_folder));
    const Duration until = Now() + options_.lock_within;
    while (true) {
      auto taken = files_.Lock(options_.state_folder + "/probe-pods.lock", "probe pods " + run_);
      if (taken.ok()) {
        lock_ = std::move(*taken);
        break;
      }
      if (taken.error().code != Code::kConflict || Now() >= until)
        return Status(Fail(taken.error())).Context("another look has its probe pods out");
      client_.clock().SleepFor(options_.every);
    }
    return Sweep();
  };
  prepared_ = prepare();
  return *prepared_;
}

Status ProbePods::Remove() {
  std::set<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    clocks_.clear();
    if (prepared_ && !prepared_->ok()) prepared_.reset();  // the next look tries again
    names = out_;
  }
  Status first;
  for (const std::string& name : names) {
    Status gone = Delete(name);
    if (first.ok() && !gone.ok()) first = std::move(gone);
  }
  TRY_VOID(std::move(first));
  const Duration until = Now() + options_.until_gone;
  while (!names.empty()) {
    TRY(const std::vector<std::string> left, Labelled(Own()));
    if (left.empty()) break;
    if (Now() >= until) return Fail(Code::kTimeout, "probe pods do not go: " + Join(left, ", "));
    client_.clock().SleepFor(options_.every);
  }
  // Others may look now.
  const std::lock_guard lock(mutex_);
  out_.clear();
  prepared_.reset();
  lock_.reset();
  return {};
}

}  // namespace muster::kubernetes
