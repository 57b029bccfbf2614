// {node}, {gpu}, {uuid} and a runbook's inputs in its texts: filled in once, when the plan is made.
// What is left over is an error, never an empty text.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/subject.h"

namespace muster {

using TemplateValues = std::map<std::string, std::string>;

// node, gpu (its index, of a GPU), uuid (of a known identity), and the inputs.
TemplateValues ValuesFor(const Subject& on, const std::string& identity,
                         const std::map<std::string, std::string>& inputs);
// "{{" is a brace. kInvalid names what is not known.
Result<std::string> FillTemplate(std::string_view text, const TemplateValues& values);

}  // namespace muster
