// Environment variables: most rules are data; these compare variables with each other and with the
// site.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/lint/context.h"

namespace muster::lint {

namespace {

struct Variable {
  std::string name, value;
  const Document* doc = nullptr;   // nullptr in a script
  const YamlNode* node = nullptr;  // its value
  const YamlNode* item = nullptr;  // the entry of env
  std::string file;
  YamlMark at;
};

bool Fits(const LintEnv& env, const Variable& v) {
  if (std::find(env.names.begin(), env.names.end(), v.name) == env.names.end()) return false;
  return env.values.empty() ||
         std::any_of(env.values.begin(), env.values.end(),
                     [&](const std::string& value) { return EqualsIgnoreCase(value, v.value); });
}

void CheckOne(Context& c, const Variable& v) {
  const auto say = [&](std::string_view code, std::string text, Context::Edits fix = {}) {
    c.Say(code, v.file, v.at, std::move(text), std::move(fix));
  };
  for (const auto& [code, rule] : c.rules.by_code) {
    if (!rule.env || !Fits(*rule.env, v)) continue;
    Context::Edits fix;
    if (v.doc != nullptr && rule.env->remove) fix = c.Remove(*v.doc, v.item->at);
    if (v.doc != nullptr && !rule.env->set.empty()) fix = c.Set(*v.doc, *v.node, rule.env->set);
    say(code, fmt::format("{}={}: {}", v.name, Shorten(v.value, 60), rule.title), std::move(fix));
  }
  if (v.name == "NCCL_IB_HCA" && !v.value.empty() && v.value[0] != '^') {
    const bool exact = v.value[0] == '=';
    if (!exact) {
      Context::Edits fix;
      if (v.doc != nullptr && !c.site.adapters.empty())
        fix = c.Set(*v.doc, *v.node, "\"=" + Join(c.site.adapters, ",") + "\"");
      say("LINT-606",
          fmt::format("NCCL_IB_HCA={} is a prefix: it takes every adapter whose name begins so",
                      v.value),
          std::move(fix));
    }
    if (!c.site.adapters.empty()) {
      for (const std::string_view part :
           Split(std::string_view(v.value).substr(exact ? 1 : 0), ',')) {
        const std::string_view name = part.substr(0, part.find(':'));
        const bool there = std::any_of(
            c.site.adapters.begin(), c.site.adapters.end(),
            [&](const std::string& a) { return exact ? a == name : StartsWith(a, name); });
        if (!there)
          say("LINT-621", fmt::format("no adapter of the site is called {}; it has {}", name,
                                      Join(c.site.adapters, ",")));
      }
    }
  }
  if (v.name == "NCCL_DEBUG_SUBSYS") {
    for (const std::string_view part : Split(v.value, ',')) {
      std::string_view name = Trim(part);
      if (StartsWith(name, "^")) name = name.substr(1);
      if (!name.empty() && !c.Listed("nccl_subsystems", name))
        say("LINT-611", fmt::format("NCCL has no log subsystem {}", name));
    }
  }
  if (StartsWith(v.name, "NCCL_") && !c.Listed("nccl_variables", v.name)) {
    const auto near = Nearest(v.name, c.List("nccl_variables"));
    const bool by_rule =
        std::any_of(c.rules.by_code.begin(), c.rules.by_code.end(), [&](const auto& r) {
          return r.second.env && std::find(r.second.env->names.begin(), r.second.env->names.end(),
                                           v.name) != r.second.env->names.end();
        });
    if (near && !by_rule)
      say("LINT-620", fmt::format("NCCL knows no {}; {} is meant?", v.name, *near));
  }
}

void CheckTogether(Context& c, const std::vector<Variable>& all) {
  const auto has = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const Variable& v) { return v.name == name; });
  };
  for (const Variable& v : all) {
    if (v.name == "SHARP_COLL_ENABLE_SAT" && !has("NCCL_COLLNET_ENABLE"))
      c.Say("LINT-617", v.file, v.at, "");
  }
}

// export NAME=value lines of a script.
std::vector<Variable> ExportsOf(const SbatchScript& script) {
  std::vector<Variable> all;
  int number = 0;
  for (const std::string_view line : Lines(script.text)) {
    ++number;
    const std::string_view trimmed = Trim(line);
    const auto rest = After(trimmed, "export ");
    if (!rest) continue;
    for (const std::string_view word : SplitBlank(*rest)) {
      const size_t equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0) break;
      std::string value(word.substr(equals + 1));
      std::erase_if(value, [](char ch) { return ch == '"' || ch == '\''; });
      Variable v;
      v.name = std::string(word.substr(0, equals));
      v.value = std::move(value);
      v.file = script.path;
      v.at = {number, static_cast<int>(word.data() - line.data()) + 1};
      all.push_back(std::move(v));
    }
  }
  return all;
}

}  // namespace

void CheckEnv(Context& c) {
  for (const Workload& w : c.workloads) {
    std::map<std::string, Variable> first;  // by name, of the first container with GPUs
    bool have_first = false;
    for (const PodSet& set : w.sets) {
      for (const YamlNode& container : set.Containers()) {
        std::vector<Variable> all;
        std::map<std::string, Variable> mine;
        for (const YamlNode& env : Key(container, "env").items) {
          const YamlNode& value = Key(env, "value");
          if (value.IsNull()) continue;
          Variable v{
              TextOf(Key(env, "name")), TextOf(value), w.doc, &value, &env, w.doc->file, value.at};
          if (StartsWith(v.name, "NCCL_")) mine.emplace(v.name, v);
          all.push_back(std::move(v));
        }
        for (const Variable& v : all) CheckOne(c, v);
        CheckTogether(c, all);
        if (ContainerGpus(container) == 0) continue;
        if (!have_first) {
          first = mine;
          have_first = true;
          continue;
        }
        for (const auto& [name, v] : mine) {
          const auto other = first.find(name);
          if (other == first.end() || other->second.value == v.value) continue;
          c.Say("LINT-615", v.file, v.at,
                fmt::format("{} is {} here and {} on line {}", name, v.value, other->second.value,
                            other->second.at.line),
                c.Set(*w.doc, *v.node, "\"" + other->second.value + "\""));
        }
      }
    }
  }
  for (const SbatchScript& script : c.input.scripts) {
    const auto all = ExportsOf(script);
    for (const Variable& v : all) CheckOne(c, v);
    CheckTogether(c, all);
  }
}

}  // namespace muster::lint
