#include "backend/kubernetes/apply.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "diagnose/lint/edit.h"
#include "kube/known_kinds.h"
#include "kube/stream_reader.h"
#include "render/yaml_text.h"

namespace muster::submit {

namespace {

using Json = nlohmann::ordered_json;
using render::RenderedObject;

std::string TitleOf(const RenderedObject& object) {
  return object.ns.empty() ? fmt::format("{} {}", object.kind, object.name)
                           : fmt::format("{} {}/{}", object.kind, object.ns, object.name);
}

kube::Request ApplyRequest(const RenderedObject& object, std::string body, bool dry_run) {
  kube::Request request = kube::Apply(kube::ResourceFor(object.api_version, object.kind), object.ns,
                                      object.name, std::move(body));
  request.query.emplace_back("fieldValidation", "Strict");
  if (dry_run) request.query.emplace_back("dryRun", "All");
  return request;
}

Json ParseObject(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

// What a person wrote or could write: without the server's own book-keeping.
std::string ReadableYaml(Json json) {
  json.erase("status");
  if (const auto meta = json.find("metadata"); meta != json.end() && meta->is_object()) {
    for (const char* key : {"managedFields", "resourceVersion", "uid", "creationTimestamp",
                            "generation", "ownerReferences"})
      meta->erase(key);
  }
  return render::ToYamlText(json);
}

bool IsEnded(const std::string& text) {
  const auto standing = StandingOf({text, {}, {}});
  return standing.ok() && standing->ended();
}

// Nothing when it is not there.
Result<std::optional<Json>> LiveOf(kube::Client& client, const RenderedObject& object) {
  const kube::Answer answer = client.Await(
      kube::Get(kube::ResourceFor(object.api_version, object.kind), object.ns, object.name));
  if (answer.ok()) return std::optional(ParseObject(answer.body));
  // A 404 without an object of that name; a kind that is not served comes with other words.
  if (answer.status == 404 && answer.reason == "NotFound") return std::optional<Json>();
  return Fail(*answer.error);
}

std::string UidOf(const Json& object) {
  const auto meta = object.find("metadata");
  if (meta == object.end() || !meta->is_object()) return "";
  const auto uid = meta->find("uid");
  return uid != meta->end() && uid->is_string() ? uid->get<std::string>() : std::string();
}

struct Made {
  const RenderedObject* object;
  std::string uid;
};

Error TakeBack(kube::Client& client, const std::vector<Made>& made, Error error, Applied& applied) {
  for (auto one = made.rbegin(); one != made.rend(); ++one) {
    const kube::Answer answer = client.Await(
        kube::Delete(kube::ResourceFor(one->object->api_version, one->object->kind),
                     one->object->ns, one->object->name, {one->uid, {}}, {}, "Background"));
    if (answer.ok() || answer.status == 404) {
      applied.removed.push_back(TitleOf(*one->object));
      error = std::move(error).Context("taken away again: " + TitleOf(*one->object));
    } else {
      error = std::move(error).Context("left behind: " + TitleOf(*one->object) + " (" +
                                       answer.error->message + ")");
    }
  }
  return error;
}

// The Service goes when its job goes.
Status MakeDependant(kube::Client& client, const RenderedObject& object,
                     const RenderedObject& owner, const std::string& uid) {
  Json json = ParseObject(object.json);
  json["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", owner.api_version},
                                                      {"kind", owner.kind},
                                                      {"name", owner.name},
                                                      {"uid", uid}}});
  const kube::Answer answer = client.Await(ApplyRequest(object, json.dump(), false));
  return answer.ok() ? Status() : Status(Fail(*answer.error));
}

bool IsRendered(const RenderedObject& object) {
  const Json json = ParseObject(object.json);
  return json.contains("/metadata/labels/app.kubernetes.io~1managed-by"_json_pointer) &&
         json["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "muster";
}

Result<std::vector<std::string>> ItemsOf(kube::Client& client, const kube::Resource& resource,
                                         const std::string& ns, const std::string& selector) {
  std::vector<std::string> items;
  TRY(const std::string body, client.Ask(kube::List(resource, ns, {selector, {}})));
  TRY_VOID(kube::ReadList(body, [&](std::string_view json) -> Status {
    items.emplace_back(json);
    return {};
  }));
  return items;
}

}  // namespace

Result<std::vector<Change>> Preview(kube::Client& client, const render::RenderedJob& job) {
  std::vector<Change> changes;
  for (const RenderedObject& object : job.objects) {
    Change change;
    change.title = TitleOf(object);
    TRY(const std::optional<Json> live, LiveOf(client, object));
    const kube::Answer answer = client.Await(ApplyRequest(object, object.json, true));
    if (!answer.ok()) return Fail(Error(*answer.error).Context(change.title));
    change.exists = live.has_value();
    // A new object is shown as it was rendered, without the server's defaults.
    change.diff = live ? UnifiedDiff(change.title, ReadableYaml(*live),
                                     ReadableYaml(ParseObject(answer.body)))
                       : UnifiedDiff(change.title, "", object.yaml);
    changes.push_back(std::move(change));
  }
  return changes;
}

Result<Applied> ApplyAll(kube::Client& client, const render::RenderedJob& job) {
  Applied applied;
  std::vector<Made> made;
  const RenderedObject* workload = nullptr;
  for (const RenderedObject& object : job.objects) {
    const std::string title = TitleOf(object);
    const auto live = LiveOf(client, object);
    std::optional<Error> error;
    if (!live.ok()) {
      error = live.error();
    } else if (*live && object.is_workload && IsEnded((*live)->dump())) {
      error = Error{Code::kConflict,
                    "it is there and has ended: delete it, or take another --name",
                    {},
                    false};
    } else {
      const kube::Answer answer = client.Await(ApplyRequest(object, object.json, false));
      if (answer.ok()) {
        const std::string uid = UidOf(ParseObject(answer.body));
        if (!*live) made.push_back({&object, uid});
        if (object.is_workload && workload == nullptr) {
          workload = &object;
          applied.uid = uid;
        }
        applied.done.push_back(title);
        continue;
      }
      error = *answer.error;
    }
    // Without an answer nobody knows whether it was made: what stands is left for the next try.
    const bool unknown = error->code == Code::kUnavailable || error->code == Code::kTimeout;
    if (unknown) {
      return Fail(
          std::move(*error).Context("submit again to finish what was begun").Context(title));
    }
    return Fail(TakeBack(client, made, std::move(*error).Context(title), applied));
  }
  if (workload == nullptr || applied.uid.empty()) return applied;
  for (const RenderedObject& object : job.objects) {
    if (object.is_workload || object.ns != workload->ns || !IsRendered(object)) continue;
    TRY_VOID(MakeDependant(client, object, *workload, applied.uid).Context(TitleOf(object)));
  }
  return applied;
}

Status RemoveAll(kube::Client& client, const render::RenderedJob& job, Duration patience) {
  for (auto object = job.objects.rbegin(); object != job.objects.rend(); ++object) {
    const kube::Answer answer =
        client.Await(kube::Delete(kube::ResourceFor(object->api_version, object->kind), object->ns,
                                  object->name, {}, {}, "Foreground"));
    if (!answer.ok() && answer.status != 404)
      return Fail(Error(*answer.error).Context(TitleOf(*object)));
  }
  const Duration until = client.clock().Monotonic() + patience;
  std::vector<std::string> left;
  do {
    left.clear();
    for (const RenderedObject& object : job.objects) {
      TRY(const std::optional<Json> live, LiveOf(client, object));
      if (live) left.push_back(TitleOf(object));
    }
    if (left.empty()) return {};
    client.clock().SleepFor(std::chrono::milliseconds(200));
  } while (client.clock().Monotonic() < until);
  return Fail(Code::kTimeout, "still there: " + Join(left, ", "));
}

Result<Standing> Look(kube::Client& client, const RenderedObject& workload) {
  TRY(const std::optional<Json> live, LiveOf(client, workload));
  if (!live) return Fail(Code::kNotFound, TitleOf(workload) + " is not there any more");
  JobTexts texts;
  texts.job = live->dump();
  const bool volcano = StartsWith(workload.api_version, "batch.volcano.sh/");
  const char* label = volcano                     ? "volcano.sh/job-name"
                      : workload.kind == "JobSet" ? "jobset.sigs.k8s.io/jobset-name"
                                                  : "batch.kubernetes.io/job-name";
  TRY(texts.pods,
      ItemsOf(client, kube::kPods, workload.ns, fmt::format("{}={}", label, workload.name)));
  const bool kueue = live->contains("/metadata/labels/kueue.x-k8s.io~1queue-name"_json_pointer);
  if (!kueue && !volcano) return StandingOf(texts);
  const kube::Resource holders =
      volcano ? kube::ResourceFor("scheduling.volcano.sh/v1beta1", "PodGroup")
              : kube::ResourceFor("kueue.x-k8s.io/v1beta2", "Workload");
  const std::string uid = UidOf(*live);
  auto held = ItemsOf(client, holders, workload.ns, "");
  if (held.ok()) {
    for (std::string& text : *held) {
      if (!uid.empty() && Contains(text, uid)) texts.holders.push_back(std::move(text));
    }
  }
  TRY(Standing standing, StandingOf(texts));
  // Without the holder's word the reason is a guess, and says so.
  if (!held.ok() && held.error().code == Code::kPermission && standing.phase == Phase::kWaiting)
    standing.reason += "; " + held.error().message;
  return standing;
}

}  // namespace muster::submit
