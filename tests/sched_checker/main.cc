// sched_checker SCRIPT DECISIONS [--numa] [--no-deep] [--only RULE,..]: holds decisions to the
// cluster script, all rules or those named. Prints one line a violation: both line numbers, the
// rule, what is wrong. Exit 0 none, 3 some, 2 unreadable input.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "checker.h"

namespace {

std::string ReadAll(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  if (!file) throw sched_checker::BadInput("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  sched_checker::Options options;
  std::vector<std::string> files, only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--numa") {
      options.numa = true;
    } else if (word == "--no-deep") {
      options.deep = false;
    } else if (word == "--only" && i + 1 < argc) {
      std::istringstream rules(argv[++i]);
      for (std::string rule; std::getline(rules, rule, ',');) only.push_back(rule);
    } else {
      files.push_back(word);
    }
  }
  if (files.size() != 2) {
    std::cerr << "usage: sched_checker SCRIPT DECISIONS [--numa] [--no-deep] [--only RULE,..]\n";
    return 2;
  }
  try {
    auto report = sched_checker::Check(ReadAll(files[0]), ReadAll(files[1]), options);
    std::erase_if(report.violations, [&](const sched_checker::Violation& v) {
      return !only.empty() && std::find(only.begin(), only.end(), v.rule) == only.end();
    });
    for (const auto& v : report.violations)
      std::cout << "decisions:" << v.decision_line << " script:" << v.script_line << " " << v.rule
                << " " << v.text << "\n";
    std::cerr << report.events << " events, " << report.decisions << " decisions, " << report.binds
              << " binds, " << report.evictions << " evictions, " << report.searched
              << " exact searches: " << report.violations.size() << " violations\n";
    return report.violations.empty() ? 0 : 3;
  } catch (const std::exception& e) {
    std::cerr << "sched_checker: " << e.what() << "\n";
    return 2;
  }
}
