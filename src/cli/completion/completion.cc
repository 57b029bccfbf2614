#include "cli/completion/completion.h"

#include <map>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/output.h"

namespace muster::cli {

namespace {

// Long option names of a command, "--site --output ...".
std::string Flags(const Command& command, Context& context) {
  Description description;
  command.run({context, {}, &description});
  std::set<std::string> flags = {"--help"};
  for (const OptionInfo& option : description.options) {
    for (const std::string_view flag : Split(option.flags, ',')) {
      if (StartsWith(flag, "--")) flags.insert(std::string(flag));
    }
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

std::string Bash(Context& context) {
  std::set<std::string> first;
  std::map<std::string, std::set<std::string>> second;
  std::string cases;
  for (const Command& command : Commands()) {
    if (command.hidden) continue;
    const auto words = SplitBlank(command.name);
    first.insert(std::string(words[0]));
    if (words.size() > 1) second[std::string(words[0])].insert(std::string(words[1]));
    cases += fmt::format("    \"{}\") flags=\"{}\" ;;\n", command.name, Flags(command, context));
  }
  std::string verbs;
  for (const auto& [verb, subs] : second)
    verbs += fmt::format("    {}) subs=\"{}\" ;;\n", verb, fmt::join(subs, " "));
  return fmt::format(R"(# bash completion for muster; load it with: source <(muster completion bash)
_muster() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} subs="" flags="" name="${{COMP_WORDS[1]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{}" -- "$cur")); return; fi
  case "$name" in
{}  esac
  if [ -n "$subs" ]; then
    if [ "$COMP_CWORD" -eq 2 ]; then COMPREPLY=($(compgen -W "$subs" -- "$cur")); return; fi
    name="$name ${{COMP_WORDS[2]}}"
  fi
  case "$name" in
{}  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
}}
complete -o filenames -F _muster muster
)",
                     fmt::join(first, " "), verbs, cases);
}

std::string Fish(Context& context) {
  std::string text =
      "# fish completion for muster; load it with: muster completion fish | source\n";
  for (const Command& command : Commands()) {
    if (command.hidden) continue;
    const auto words = SplitBlank(command.name);
    const std::string about = std::string(command.about);
    if (words.size() == 1) {
      text += fmt::format("complete -c muster -n __fish_use_subcommand -a {} -d \"{}\"\n", words[0],
                          about);
    } else {
      text += fmt::format("complete -c muster -n __fish_use_subcommand -a {}\n", words[0]);
      text +=
          fmt::format("complete -c muster -n '__fish_seen_subcommand_from {}' -a {} -d \"{}\"\n",
                      words[0], words[1], about);
    }
    const std::string flags = Flags(command, context);
    for (const std::string_view flag : SplitBlank(flags)) {
      text += fmt::format("complete -c muster -n '__fish_seen_subcommand_from {}' -l {}\n",
                          words.back(), flag.substr(2));
    }
  }
  return text;
}

}  // namespace

ExitCode Completion(const Invocation& invocation) {
  std::string shell;
  Args args("completion", "Completions for bash, zsh or fish, on stdout");
  args.Positional("SHELL", shell, "bash, zsh or fish");
  args.Example("source <(muster completion bash)");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (shell == "bash") {
    context.out << Bash(context);
  } else if (shell == "zsh") {
    context.out << "autoload -U +X bashcompinit && bashcompinit\n" << Bash(context);
  } else if (shell == "fish") {
    context.out << Fish(context);
  } else {
    return Complain(context, Code::kInvalid,
                    fmt::format("shell {} is not known, expected bash, zsh or fish", shell));
  }
  return ExitCode::kDone;
}

}  // namespace muster::cli
