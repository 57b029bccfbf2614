#include "cli/output.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster::cli {

namespace {

using Json = nlohmann::ordered_json;

bool PlainYaml(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  static constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_./";
  // ".5" and ".inf" are numbers to YAML.
  if (text.front() == '.' || kSafe.find(text.front()) == std::string_view::npos) return false;
  for (const char c : text) {
    if (kSafe.find(c) == std::string_view::npos &&
        std::string_view("0123456789 -+%()").find(c) == std::string_view::npos)
      return false;
  }
  for (const std::string_view word :
       {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}) {
    if (EqualsIgnoreCase(text, word)) return false;
  }
  return true;
}

void Yaml(const Json& json, int depth, std::string& text) {
  const std::string pad(static_cast<size_t>(depth) * 2, ' ');
  const auto scalar = [](const Json& v) {
    if (v.is_string() && PlainYaml(v.get_ref<const std::string&>())) return v.get<std::string>();
    return v.dump(-1, ' ', false,
                  Json::error_handler_t::replace);  // JSON scalars and quoted strings are YAML
  };
  const auto is_leaf = [](const Json& v) { return v.empty() ? true : !v.is_structured(); };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      text += pad + (PlainYaml(key) ? key : Json(key).dump()) + ":";
      if (is_leaf(value)) {
        text += " " + scalar(value) + "\n";
      } else {
        text += "\n";
        Yaml(value, depth + 1, text);
      }
    }
  } else {
    for (const Json& value : json) {
      if (is_leaf(value)) {
        text += pad + "- " + scalar(value) + "\n";
        continue;
      }
      std::string inner;
      Yaml(value, depth + 1, inner);
      inner.replace(pad.size(), 2, "- ");  // the first key stands beside the dash
      text += inner;
    }
  }
}

}  // namespace

Document::Document() : json(std::make_unique<Json>(Json::object())) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;

void OutputOptions::AddTo(Args& args) {
  args.Choice("-o,--output", format, {"table", "json", "yaml", "junit", "short"},
              "Form of the output; the exit code stays the same");
}

std::string ToYaml(const nlohmann::ordered_json& json) {
  std::string text;
  Yaml(json, 0, text);
  return text;
}

std::string ToJunit(const std::string& name, const std::vector<TestCase>& cases) {
  const auto count = [&](auto pick) { return std::count_if(cases.begin(), cases.end(), pick); };
  const auto failures = count([](const TestCase& c) { return c.level == Level::kFail; });
  const auto errors = count([](const TestCase& c) { return c.level == Level::kUnknown; });
  const auto skipped = count([](const TestCase& c) { return c.level == Level::kNotApplicable; });
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
      EscapeXml(name), cases.size(), failures, errors, skipped);
  for (const TestCase& c : cases) {
    xml += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", EscapeXml(c.suite),
                       EscapeXml(c.name));
    switch (c.level) {
      case Level::kPass:
        xml += "/>\n";
        break;
      // JUnit knows no warning: it passes, with the text in system-out.
      case Level::kWarn:
        xml += fmt::format(">\n      <system-out>warning: {}</system-out>\n    </testcase>\n",
                           EscapeXml(c.message));
        break;
      case Level::kFail:
        xml += fmt::format(">\n      <failure message=\"{}\"/>\n    </testcase>\n",
                           EscapeXml(c.message));
        break;
      case Level::kUnknown:
        xml += fmt::format(">\n      <error message=\"{}\"/>\n    </testcase>\n",
                           EscapeXml(c.message));
        break;
      case Level::kNotApplicable:
        xml += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                           EscapeXml(c.message));
        break;
    }
  }
  return xml + "  </testsuite>\n</testsuites>\n";
}

void Emit(const Context& context, const OutputOptions& options, const Document& document) {
  Json whole = {{"apiVersion", "muster/v1"}, {"kind", document.kind}};
  whole.update(*document.json);
  if (options.format == "json") {
    context.out << whole.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else if (options.format == "yaml") {
    context.out << ToYaml(whole);
  } else if (options.format == "junit") {
    context.out << ToJunit(document.kind, document.cases);
  } else {
    context.out << (options.format == "short" && !document.brief.empty() ? document.brief
                                                                         : document.table);
  }
  context.out.flush();
}

ExitCode ExitCodeFor(const Error& error) {
  switch (error.code) {
    case Code::kInvalid:
    case Code::kParse:
    case Code::kNotFound:
    case Code::kCorrupt:
      return ExitCode::kUsage;
    case Code::kConflict:
    case Code::kRefused:
      return ExitCode::kRefused;
    case Code::kTimeout:
      return ExitCode::kTimeout;
    case Code::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kInternal;
  }
}

ExitCode ExitCodeFor(Level level, bool strict) {
  switch (level) {
    case Level::kFail:
      return ExitCode::kFail;
    case Level::kUnknown:
      return ExitCode::kUnknown;
    case Level::kWarn:
      return strict ? ExitCode::kWarn : ExitCode::kDone;
    default:
      return ExitCode::kDone;
  }
}

ExitCode Complain(const Context& context, const Error& error) {
  context.err << "muster: " << Printable(error.ToString()) << "\n";
  context.err.flush();
  return ExitCodeFor(error);
}

ExitCode Complain(const Context& context, Code code, std::string message) {
  Error error;
  error.code = code;
  error.message = std::move(message);
  return Complain(context, error);
}

}  // namespace muster::cli
