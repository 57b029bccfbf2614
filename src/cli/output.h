// The output forms that every command shares: -o table|json|yaml|junit|short. A command fills one
// Document; the form never changes the exit code. Text from outside is made printable before it
// reaches a terminal.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/exit_code.h"
#include "cli/args.h"
#include "cli/context.h"
#include "evidence/verdict.h"

namespace muster::cli {

// One line of a JUnit file.
struct TestCase {
  std::string suite, name;
  Level level = Level::kPass;
  std::string message;
};

// What a command has to say. `json` has no apiVersion and kind yet: Emit adds them.
struct Document {
  Document();
  ~Document();
  Document(Document&&) noexcept;
  std::string kind;  // "SiteStatus"
  std::unique_ptr<nlohmann::ordered_json> json;
  std::string table;            // for a person
  std::string brief;            // -o short: only what needs attention; empty = the table
  std::vector<TestCase> cases;  // -o junit
};

// The options every command has, added to its Args by AddTo.
struct OutputOptions {
  std::string format = "table";
  void AddTo(Args& args);
};

// Prints the document in the asked form.
void Emit(const Context& context, const OutputOptions& options, const Document& document);
// "muster: reading site.yaml: line 3 ..." on stderr, and the exit code for the error's kind.
ExitCode Complain(const Context& context, const Error& error);
ExitCode Complain(const Context& context, Code code, std::string message);
ExitCode ExitCodeFor(const Error& error);
ExitCode ExitCodeFor(Level level, bool strict);

std::string ToYaml(const nlohmann::ordered_json& json);
std::string ToJunit(const std::string& name, const std::vector<TestCase>& cases);

}  // namespace muster::cli
