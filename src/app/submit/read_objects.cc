#include "app/submit/read_objects.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kube/known_kinds.h"
#include "manifest/workloads.h"
#include "render/yaml_text.h"

namespace muster::submit {

namespace {

using Json = nlohmann::ordered_json;

// YAML 1.2's core schema, as sigs.k8s.io/yaml reads it for kubectl: what is not quoted and looks
// like a number, a boolean or null is one.
Json ScalarOf(const YamlNode& node) {
  if (node.quoted) return node.text;
  if (node.text == "null" || node.text == "~" || node.text.empty()) return nullptr;
  if (const auto flag = YamlBool(node); flag.ok()) return *flag;
  if (const auto whole = YamlInt(node); whole.ok()) return *whole;
  if (const auto real = YamlReal(node); real.ok()) return *real;
  return node.text;
}

Json JsonOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kScalar:
      return ScalarOf(node);
    case YamlNode::Kind::kSequence: {
      Json list = Json::array();
      for (const YamlNode& item : node.items) list.push_back(JsonOf(item));
      return list;
    }
    case YamlNode::Kind::kMapping: {
      Json object = Json::object();
      for (const YamlEntry& entry : node.entries) object[entry.key] = JsonOf(entry.value);
      return object;
    }
  }
  return nullptr;
}

}  // namespace

Status ReadObjects(Files& files, const std::vector<std::string>& paths, const std::string& ns,
                   render::RenderedJob& job, LintInput& input) {
  for (const std::string& path : paths) {
    TRY(std::string text, files.Read(path, kYamlMaxBytes).Context("reading " + path));
    if (LooksLikeSbatch(text)) {
      return Fail(Code::kInvalid, path + ": an sbatch script goes to Slurm: sbatch " + path +
                                      " (muster lint reads it)");
    }
    TRY(ManifestFile file, ParseManifestFile(std::move(text), path));
    for (const Document& doc : file.documents) {
      Json json = JsonOf(doc.root);
      if (doc.name.empty()) {
        return Fail(Code::kInvalid,
                    fmt::format("{}:{}:{}: {} has no name, expected metadata.name (generateName "
                                "makes another job with every try)",
                                path, doc.root.at.line, doc.root.at.column, doc.kind_name));
      }
      render::RenderedObject object;
      object.api_version = doc.group.empty() ? doc.version : doc.group + "/" + doc.version;
      object.kind = doc.kind_name;
      object.name = doc.name;
      if (kube::ResourceFor(object.api_version, object.kind).namespaced) {
        object.ns = !doc.ns.empty() ? doc.ns : ns.empty() ? "default" : ns;
        json["metadata"]["namespace"] = object.ns;
      }
      object.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
      object.yaml = render::ToYamlText(json);
      object.is_workload = WorkloadOf(doc).has_value();
      job.objects.push_back(std::move(object));
    }
    input.files.push_back(std::move(file));
  }
  // What serves a job stands before it; otherwise the order of the files.
  std::stable_partition(job.objects.begin(), job.objects.end(),
                        [](const render::RenderedObject& o) { return !o.is_workload; });
  if (job.objects.empty())
    return Fail(Code::kInvalid, "nothing to submit: the files hold no objects");
  return {};
}

}  // namespace muster::submit
