#include "manifest/sbatch.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

enum class Takes { kValue, kFlag, kMaybe };
struct Known {
  std::string_view name;
  char letter;  // 0 = none
  Takes takes;
};
// sbatch(1), https://slurm.schedmd.com/sbatch.html; container-*: the plugin NVIDIA/pyxis, its wiki.
constexpr std::array kOptions = {
    Known{"account", 'A', Takes::kValue},
    Known{"acctg-freq", 0, Takes::kValue},
    Known{"array", 'a', Takes::kValue},
    Known{"batch", 0, Takes::kValue},
    Known{"bb", 0, Takes::kValue},
    Known{"bbf", 0, Takes::kValue},
    Known{"begin", 'b', Takes::kValue},
    Known{"chdir", 'D', Takes::kValue},
    Known{"cluster-constraint", 0, Takes::kValue},
    Known{"clusters", 'M', Takes::kValue},
    Known{"comment", 0, Takes::kValue},
    Known{"constraint", 'C', Takes::kValue},
    Known{"container", 0, Takes::kValue},
    Known{"container-entrypoint", 0, Takes::kFlag},
    Known{"container-entrypoint-log", 0, Takes::kFlag},
    Known{"container-env", 0, Takes::kValue},
    Known{"container-id", 0, Takes::kValue},
    Known{"container-image", 0, Takes::kValue},
    Known{"container-mount-home", 0, Takes::kFlag},
    Known{"container-mounts", 0, Takes::kValue},
    Known{"container-name", 0, Takes::kValue},
    Known{"container-readonly", 0, Takes::kFlag},
    Known{"container-remap-root", 0, Takes::kFlag},
    Known{"container-save", 0, Takes::kValue},
    Known{"container-workdir", 0, Takes::kValue},
    Known{"container-writable", 0, Takes::kFlag},
    Known{"contiguous", 0, Takes::kFlag},
    Known{"core-spec", 'S', Takes::kValue},
    Known{"cores-per-socket", 0, Takes::kValue},
    Known{"cpu-freq", 0, Takes::kValue},
    Known{"cpus-per-gpu", 0, Takes::kValue},
    Known{"cpus-per-task", 'c', Takes::kValue},
    Known{"deadline", 0, Takes::kValue},
    Known{"delay-boot", 0, Takes::kValue},
    Known{"dependency", 'd', Takes::kValue},
    Known{"distribution", 'm', Takes::kValue},
    Known{"error", 'e', Takes::kValue},
    Known{"exclude", 'x', Takes::kValue},
    Known{"exclusive", 0, Takes::kMaybe},
    Known{"export", 0, Takes::kValue},
    Known{"export-file", 0, Takes::kValue},
    Known{"extra", 0, Takes::kValue},
    Known{"extra-node-info", 'B', Takes::kValue},
    Known{"get-user-env", 0, Takes::kMaybe},
    Known{"gid", 0, Takes::kValue},
    Known{"gpu-bind", 0, Takes::kValue},
    Known{"gpu-freq", 0, Takes::kValue},
    Known{"gpus", 'G', Takes::kValue},
    Known{"gpus-per-node", 0, Takes::kValue},
    Known{"gpus-per-socket", 0, Takes::kValue},
    Known{"gpus-per-task", 0, Takes::kValue},
    Known{"gres", 0, Takes::kValue},
    Known{"gres-flags", 0, Takes::kValue},
    Known{"hint", 0, Takes::kValue},
    Known{"hold", 'H', Takes::kFlag},
    Known{"ignore-pbs", 0, Takes::kFlag},
    Known{"input", 'i', Takes::kValue},
    Known{"job-name", 'J', Takes::kValue},
    Known{"kill-on-invalid-dep", 0, Takes::kValue},
    Known{"licenses", 'L', Takes::kValue},
    Known{"mail-type", 0, Takes::kValue},
    Known{"mail-user", 0, Takes::kValue},
    Known{"mcs-label", 0, Takes::kValue},
    Known{"mem", 0, Takes::kValue},
    Known{"mem-bind", 0, Takes::kValue},
    Known{"mem-per-cpu", 0, Takes::kValue},
    Known{"mem-per-gpu", 0, Takes::kValue},
    Known{"mincpus", 0, Takes::kValue},
    Known{"network", 0, Takes::kValue},
    Known{"nice", 0, Takes::kMaybe},
    Known{"no-container-entrypoint", 0, Takes::kFlag},
    Known{"no-container-mount-home", 0, Takes::kFlag},
    Known{"no-container-remap-root", 0, Takes::kFlag},
    Known{"no-kill", 'k', Takes::kMaybe},
    Known{"no-requeue", 0, Takes::kFlag},
    Known{"nodefile", 'F', Takes::kValue},
    Known{"nodelist", 'w', Takes::kValue},
    Known{"nodes", 'N', Takes::kValue},
    Known{"ntasks", 'n', Takes::kValue},
    Known{"ntasks-per-core", 0, Takes::kValue},
    Known{"ntasks-per-gpu", 0, Takes::kValue},
    Known{"ntasks-per-node", 0, Takes::kValue},
    Known{"ntasks-per-socket", 0, Takes::kValue},
    Known{"oom-kill-step", 0, Takes::kMaybe},
    Known{"open-mode", 0, Takes::kValue},
    Known{"output", 'o', Takes::kValue},
    Known{"overcommit", 'O', Takes::kFlag},
    Known{"oversubscribe", 's', Takes::kFlag},
    Known{"parsable", 0, Takes::kFlag},
    Known{"partition", 'p', Takes::kValue},
    Known{"power", 0, Takes::kValue},
    Known{"prefer", 0, Takes::kValue},
    Known{"priority", 0, Takes::kValue},
    Known{"profile", 0, Takes::kValue},
    Known{"propagate", 0, Takes::kMaybe},
    Known{"qos", 'q', Takes::kValue},
    Known{"quiet", 'Q', Takes::kFlag},
    Known{"reboot", 0, Takes::kFlag},
    Known{"requeue", 0, Takes::kFlag},
    Known{"reservation", 0, Takes::kValue},
    Known{"resv-ports", 0, Takes::kMaybe},
    Known{"segment", 0, Takes::kValue},
    Known{"signal", 0, Takes::kValue},
    Known{"sockets-per-node", 0, Takes::kValue},
    Known{"spread-job", 0, Takes::kFlag},
    Known{"stepmgr", 0, Takes::kFlag},
    Known{"switches", 0, Takes::kValue},
    Known{"test-only", 0, Takes::kFlag},
    Known{"thread-spec", 0, Takes::kValue},
    Known{"threads-per-core", 0, Takes::kValue},
    Known{"time", 't', Takes::kValue},
    Known{"time-min", 0, Takes::kValue},
    Known{"tmp", 0, Takes::kValue},
    Known{"tres-bind", 0, Takes::kValue},
    Known{"tres-per-task", 0, Takes::kValue},
    Known{"uid", 0, Takes::kValue},
    Known{"use-min-nodes", 0, Takes::kFlag},
    Known{"verbose", 'v', Takes::kFlag},
    Known{"wait", 'W', Takes::kFlag},
    Known{"wait-all-nodes", 0, Takes::kValue},
    Known{"wckey", 0, Takes::kValue},
    Known{"wrap", 0, Takes::kValue},
};

const Known* FindLong(std::string_view name) {
  for (const Known& known : kOptions) {
    if (known.name == name) return &known;
  }
  return nullptr;
}
const Known* FindShort(char letter) {
  for (const Known& known : kOptions) {
    if (known.letter == letter && letter != 0) return &known;
  }
  return nullptr;
}

struct Word {
  std::string text;
  int column;
};

tl::unexpected<Error> BadAt(std::string_view path, YamlMark at, std::string_view what) {
  return Fail(Code::kInvalid, fmt::format("{}:{}:{}: {}", path, at.line, at.column, what));
}

// Words of a directive: blanks separate, quotes hold together, a # that begins a word ends it all.
Result<std::vector<Word>> WordsOf(std::string_view line, size_t from, int number,
                                  std::string_view path) {
  std::vector<Word> words;
  size_t i = from;
  while (i < line.size()) {
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    if (line[i] == '#') break;
    Word word{"", static_cast<int>(i) + 1};
    while (i < line.size() && line[i] != ' ' && line[i] != '\t' && line[i] != '\r') {
      if (line[i] == '"' || line[i] == '\'') {
        const size_t end = line.find(line[i], i + 1);
        if (end == std::string_view::npos)
          return BadAt(path, {number, static_cast<int>(i) + 1},
                       "a quote is opened here and never closed");
        word.text += line.substr(i + 1, end - i - 1);
        i = end + 1;
      } else {
        word.text += line[i++];
      }
    }
    words.push_back(std::move(word));
  }
  return words;
}

Status ReadLong(const std::vector<Word>& words, size_t& i, YamlMark at, std::string_view path,
                std::vector<SbatchOption>& into) {
  const std::string_view body = std::string_view(words[i].text).substr(2);
  const size_t equals = body.find('=');
  const std::string name(body.substr(0, equals));
  const Known* known = FindLong(name);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const Known& k : kOptions) names.emplace_back(k.name);
    const auto near = Nearest(name, names);
    return BadAt(path, at,
                 fmt::format("--{} is no option of sbatch{}", Shorten(Printable(name), 40),
                             near ? fmt::format(", did you mean --{}", *near) : ""));
  }
  SbatchOption option{name, "", at};
  if (equals != std::string_view::npos) {
    option.value = std::string(body.substr(equals + 1));
  } else if (known->takes == Takes::kValue) {
    if (i + 1 >= words.size()) return BadAt(path, at, fmt::format("--{} needs a value", name));
    option.value = words[++i].text;
  }
  into.push_back(std::move(option));
  return {};
}

Status ReadShort(const std::vector<Word>& words, size_t& i, YamlMark at, std::string_view path,
                 std::vector<SbatchOption>& into) {
  const std::string& text = words[i].text;
  const Known* known = text.size() > 1 ? FindShort(text[1]) : nullptr;
  if (known == nullptr) {
    return BadAt(path, at,
                 fmt::format("{} is no option of sbatch, expected one such as --nodes=2",
                             Shorten(Printable(text), 40)));
  }
  SbatchOption option{std::string(known->name), text.substr(2), at};
  if (option.value.empty() && known->takes == Takes::kValue) {
    if (i + 1 >= words.size())
      return BadAt(path, at, fmt::format("-{} needs a value", known->letter));
    option.value = words[++i].text;
  }
  into.push_back(std::move(option));
  return {};
}

}  // namespace

const SbatchOption* SbatchScript::Find(std::string_view name) const {
  for (auto it = options.rbegin(); it != options.rend(); ++it) {
    if (it->name == name) return &*it;
  }
  return nullptr;
}

bool LooksLikeSbatch(std::string_view text) {
  if (!StartsWith(text, "#!")) return false;
  return text.find("\n#SBATCH") != std::string_view::npos;
}

Result<SbatchScript> ParseSbatch(std::string text, std::string path) {
  SbatchScript script{std::move(path), std::move(text), {}, {}, {}};
  int number = 0;
  bool in_body = false;
  for (const std::string_view line : Lines(script.text)) {
    ++number;
    if (!StartsWith(line, "#SBATCH")) {
      const std::string_view trimmed = Trim(line);
      in_body = in_body || (!trimmed.empty() && trimmed[0] != '#');
      continue;
    }
    if (line.size() > 7 && line[7] != ' ' && line[7] != '\t') continue;  // "#SBATCHES": a comment
    TRY(const std::vector<Word> words, WordsOf(line, 7, number, script.path));
    std::vector<SbatchOption>& into = in_body ? script.late : script.options;
    for (size_t i = 0; i < words.size(); ++i) {
      const YamlMark at{number, words[i].column};
      if (words[i].text == "hetjob" || words[i].text == "packjob") {
        script.hetjob.push_back(at);
      } else if (StartsWith(words[i].text, "--")) {
        TRY_VOID(ReadLong(words, i, at, script.path, into));
      } else if (StartsWith(words[i].text, "-")) {
        TRY_VOID(ReadShort(words, i, at, script.path, into));
      } else {
        return BadAt(script.path, at,
                     fmt::format("expected an option such as --nodes=2, found {}",
                                 Shorten(Printable(words[i].text), 40)));
      }
    }
  }
  return script;
}

std::optional<int64_t> SlurmTimeMs(std::string_view text) {
  int64_t days = 0;
  const size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  if (has_days) {
    const auto d = ParseInt(text.substr(0, dash));
    if (!d.ok() || *d < 0 || *d > 36500) return std::nullopt;
    days = *d;
    text.remove_prefix(dash + 1);
  }
  std::vector<int64_t> parts;
  for (const std::string_view part : Split(text, ':')) {
    const auto n = ParseInt(part);
    if (!n.ok() || *n < 0 || *n > 100'000'000) return std::nullopt;
    parts.push_back(*n);
  }
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  int64_t seconds = days * 86400;
  if (has_days) {  // hours first
    constexpr std::array<int64_t, 3> kUnit = {3600, 60, 1};
    for (size_t i = 0; i < parts.size(); ++i) seconds += parts[i] * kUnit[i];
  } else if (parts.size() == 3) {
    seconds += parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else {  // minutes, or minutes and seconds
    seconds += parts[0] * 60 + (parts.size() == 2 ? parts[1] : 0);
  }
  if (seconds == 0) return std::nullopt;
  return seconds * 1000;
}

}  // namespace muster
