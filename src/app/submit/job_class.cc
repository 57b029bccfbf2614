#include "app/submit/job_class.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "manifest/quantity.h"
#include "yaml/yaml.h"

namespace muster::submit {

Result<std::vector<JobClass>> ParseJobClasses(std::string_view yaml, std::string_view file) {
  TRY(const YamlNode root, ParseYaml(yaml, file));
  YamlFindings findings;
  YamlReader top(root, file, findings);
  std::vector<JobClass> classes;
  for (const YamlNode& item : top.Items("classes")) {
    YamlReader r(item, file, findings);
    JobClass one;
    one.id = r.Text("id");
    one.what = r.Text("what");
    one.source = r.Text("source");
    const std::string launch = r.Text("launch");
    one.torchrun = launch == "torchrun";
    if (launch != "torchrun" && launch != "plain")
      r.Say("launch is " + launch + ", expected torchrun or plain");
    const auto cpu = ParseResourceAmount("cpu", r.Text("cpu_per_gpu"));
    const auto memory = ParseResourceAmount("memory", r.Text("memory_per_gpu"));
    if (!cpu.ok() || *cpu < 1) r.Say("cpu_per_gpu: expected an amount such as \"8\"");
    if (!memory.ok() || *memory < 1) r.Say("memory_per_gpu: expected an amount such as 64Gi");
    one.cpu_milli_per_gpu = cpu.value_or(0);
    one.memory_bytes_per_gpu = memory.value_or(0);
    one.beside = r.TextsOr("beside");
    r.Done();
    classes.push_back(std::move(one));
  }
  top.Done();
  TRY_VOID(ToStatus(findings));
  return classes;
}

Result<JobClass> FindJobClass(std::string_view id) {
  const auto text = FindEmbedded("job_classes.yaml");
  if (!text) return Fail(Code::kInternal, "job_classes.yaml is not in this binary");
  TRY(const std::vector<JobClass> classes, ParseJobClasses(*text, "job_classes.yaml"));
  std::string known;
  for (const JobClass& one : classes) {
    if (one.id == id) return one;
    known += fmt::format("\n  {:<16} {}", one.id, one.what);
  }
  return Fail(Code::kInvalid,
              fmt::format("there is no class {}; these are:{}", Shorten(Printable(id), 40), known));
}

}  // namespace muster::submit
