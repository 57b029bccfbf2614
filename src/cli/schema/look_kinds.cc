#include "cli/schema/look_kinds.h"

#include <nlohmann/json.hpp>

namespace muster::cli {

namespace {

using Shape = nlohmann::ordered_json;
using Property = std::pair<const char*, Shape>;

Shape Of(std::initializer_list<Property> properties, std::vector<std::string> required) {
  Shape shape = {{"type", "object"}, {"properties", Shape::object()}, {"required", required}};
  for (const auto& [name, schema] : properties) shape["properties"][name] = schema;
  return shape;
}
Shape Each(Shape items) { return {{"type", "array"}, {"items", std::move(items)}}; }
const Shape kString = {{"type", "string"}};
const Shape kReal = {{"type", "number"}};
const Shape kWhole = {{"type", "integer"}};
const Shape kVerdict = {{"enum", {"pass", "warn", "unknown", "fail", "not_applicable"}}};

}  // namespace

std::vector<std::pair<std::string, Shape>> LookKinds() {
  return {
      {"Preflight", Of({{"verdict", kVerdict},
                        {"checks", Each(Of({{"code", kString},
                                            {"title", kString},
                                            {"verdict", kVerdict},
                                            {"text", kString},
                                            {"found", Each(kString)},
                                            {"origin", kString},
                                            {"took_s", kReal},
                                            {"fix", kString},
                                            {"source", kString}},
                                           {"code", "verdict", "text"}))}},
                       {"verdict", "checks"})},
      {"PoolSheets", Of({{"pools", Each(Of({{"class", kString},
                                            {"nodes", Each(kString)},
                                            {"valid_shapes", Each(kWhole)},
                                            {"answers", Each(Of({{"question", kString},
                                                                 {"answer", kString},
                                                                 {"verdict", kVerdict},
                                                                 {"would_tell", kString}},
                                                                {"question", "verdict"}))}},
                                           {"class", "nodes", "valid_shapes"}))}},
                        {"pools"})},
      {"Advice", Of({{"advice", Each(Of({{"id", kString},
                                         {"situation", kString},
                                         {"control", kString},
                                         {"acts", kString},
                                         {"why", kString},
                                         {"does_not", kString},
                                         {"validate", kString},
                                         {"next", kString},
                                         {"source", kString}},
                                        {"id", "control"}))}},
                    {"advice"})},
      {"KvFit", Of({{"verdict", kVerdict},
                    {"text", kString},
                    {"bytes_per_token", kReal},
                    {"weights_bytes_per_gpu", kReal},
                    {"cache_bytes_per_gpu", kReal},
                    {"cache_tokens", kWhole},
                    {"concurrency_at_max_model_len", kReal},
                    {"concurrency_at_usual_len", kReal},
                    {"longest_model_len", kWhole},
                    {"assumed", Each(kString)}},
                   {"verdict", "cache_tokens", "assumed"})},
      {"BomRecord", Of({{"file", kString},
                        {"serial", kString},
                        {"origin", kString},
                        {"items", kWhole},
                        {"unknown", kWhole}},
                       {"file", "items", "unknown"})},
      {"BomDiff", Of({{"was", kString},
                      {"is", kString},
                      {"origin", kString},
                      {"changes", Each(Of({{"node", kString},
                                           {"part", kString},
                                           {"was", kString},
                                           {"is", kString},
                                           {"unknown", {{"type", "boolean"}}}},
                                          {"node", "part", "was", "is"}))}},
                     {"changes"})},
      {"BomCheck", Of({{"verdict", kVerdict},
                       {"origin", kString},
                       {"table_as_of", kString},
                       {"drift", Each(Of({{"part", kString}, {"usual", kString}}, {"part"}))},
                       {"minimums", Each(Of({{"verdict", kVerdict},
                                             {"node", kString},
                                             {"part", kString},
                                             {"version", kString},
                                             {"text", kString},
                                             {"source", kString}},
                                            {"verdict", "part"}))}},
                      {"verdict", "drift", "minimums"})},
  };
}

}  // namespace muster::cli
