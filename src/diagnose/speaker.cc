#include "diagnose/speaker.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

bool Digit(char c) { return c >= '0' && c <= '9'; }

// `count` digits at `at`, as a number; -1 otherwise.
int Digits(std::string_view s, size_t at, size_t count) {
  if (at + count > s.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (!Digit(s[i])) return -1;
    value = value * 10 + (s[i] - '0');
  }
  return value;
}

// "23:50:46.055" or "23:50:46,055" at `at`.
std::optional<Duration> Clock(std::string_view s, size_t at) {
  const int h = Digits(s, at, 2), m = Digits(s, at + 3, 2), sec = Digits(s, at + 6, 2);
  if (h < 0 || h > 23 || m < 0 || m > 59 || sec < 0 || sec > 60) return std::nullopt;
  if (s[at + 2] != ':' || s[at + 5] != ':') return std::nullopt;
  int64_t nanos = 0;
  if (at + 8 < s.size() && (s[at + 8] == '.' || s[at + 8] == ',')) {
    int64_t scale = 100'000'000;
    for (size_t i = at + 9; i < s.size() && Digit(s[i]) && scale > 0; ++i, scale /= 10)
      nanos += (s[i] - '0') * scale;
  }
  return std::chrono::hours(h) + std::chrono::minutes(m) + std::chrono::seconds(sec) +
         std::chrono::nanoseconds(nanos);
}

std::optional<TimePoint> At(int month, int day, std::optional<Duration> clock) {
  if (!clock || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(1972),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  return TimePoint(std::chrono::sys_days(date)) + *clock;
}

int MonthOf(std::string_view s, size_t at) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (size_t i = 0; i < kMonths.size(); ++i)
    if (s.compare(at, 3, kMonths[i]) == 0) return static_cast<int>(i) + 1;
  return 0;
}

// The rank in "[rank3]:", "rank3: ", "[default3]:", "[Rank 3]", "[1,3]<stdout>:".
std::string RankIn(std::string_view line) {
  const std::string_view head = line.substr(0, 400);
  for (const std::string_view mark : {"[rank", "[Rank ", "[default", "(Rank", " Rank ", " rank "}) {
    for (size_t at = head.find(mark); at != std::string_view::npos; at = head.find(mark, at + 1)) {
      size_t i = at + mark.size();
      const size_t begin = i;
      while (i < head.size() && Digit(head[i])) ++i;
      if (i > begin && i < head.size() && mark[0] == '[' && head[i] == ']')
        return std::string(head.substr(begin, i - begin));
      if (i > begin && mark[0] == '(') return std::string(head.substr(begin, i - begin));
      if (i > begin && mark[0] == ' ' &&
          (i == head.size() || head[i] == ']' || head[i] == ':' || head[i] == ' ' ||
           head[i] == ','))
        return std::string(head.substr(begin, i - begin));
    }
  }
  if (head.starts_with("rank")) {
    size_t i = 4;
    while (i < head.size() && Digit(head[i])) ++i;
    if (i > 4 && i < head.size() && head[i] == ':') return std::string(head.substr(4, i - 4));
  }
  if (head.starts_with("[1,")) {
    size_t i = 3;
    while (i < head.size() && Digit(head[i])) ++i;
    if (i > 3 && head.compare(i, 2, "]<") == 0) return std::string(head.substr(3, i - 3));
  }
  return "";
}

// The host of "host:pid:tid [0] NCCL".
std::string NcclHost(std::string_view line) {
  const size_t mark = line.find(" NCCL ");
  if (mark == std::string_view::npos) return "";
  for (const std::string_view word : SplitBlank(line.substr(0, mark))) {
    const auto parts = Split(word, ':');
    if (parts.size() < 3) continue;
    const auto& pid = parts[parts.size() - 2];
    const auto& tid = parts[parts.size() - 1];
    if (pid.empty() || tid.empty() || !std::all_of(pid.begin(), pid.end(), Digit) ||
        !std::all_of(tid.begin(), tid.end(), Digit))
      continue;
    std::string_view host = parts[parts.size() - 3];
    if (const size_t bracket = host.find_last_of("]>"); bracket != std::string_view::npos)
      host.remove_prefix(bracket + 1);
    if (!host.empty() && !std::all_of(host.begin(), host.end(), Digit)) return std::string(host);
  }
  return "";
}

bool LooksLikeHost(std::string_view word) {
  return word.size() >= 2 && word.size() <= 253 &&
         std::all_of(word.begin(), word.end(), IsNameChar) &&
         std::any_of(word.begin(), word.end(),
                     [](char c) { return std::isalpha(static_cast<unsigned char>(c)); });
}

// After "Nov 20 23:50:46 " or an ISO stamp, syslog and the journal name the host.
std::string SyslogHost(std::string_view line) {
  size_t after = std::string_view::npos;
  if (line.size() > 16 && MonthOf(line, 0) > 0 && line[3] == ' ' && line[9] == ':') after = 16;
  if (line.size() > 20 && Digits(line, 0, 4) > 1990 && line[4] == '-' && line[10] == 'T') {
    after = line.find(' ');
    if (after != std::string_view::npos) ++after;
  }
  if (after == std::string_view::npos || after >= line.size()) return "";
  const std::string_view rest = line.substr(after);
  const size_t blank = rest.find(' ');
  if (blank == std::string_view::npos) return "";
  const std::string_view host = rest.substr(0, blank);
  const std::string_view next = rest.substr(blank + 1, 80);
  // "kernel:", "slurmd[1234]:", "nv-fabricmanager[88]:"
  const size_t colon = next.find(':');
  if (!LooksLikeHost(host) || colon == std::string_view::npos ||
      next.substr(0, colon).find(' ') != std::string_view::npos)
    return "";
  return std::string(host);
}

// "node-1: text" (pdsh, srun -l has numbers only), "[pod/name/container] text", "pod/name text".
std::string RunnerHost(std::string_view line) {
  if (line.starts_with("[pod/")) {
    const size_t end = line.find_first_of("/]", 5);
    if (end != std::string_view::npos) return std::string(line.substr(5, end - 5));
  }
  if (line.starts_with("pod/")) {
    const size_t end = line.find_first_of(" /:", 4);
    if (end != std::string_view::npos) return std::string(line.substr(4, end - 4));
  }
  const size_t colon = line.find(": ");
  if (colon != std::string_view::npos && colon < 64) {
    const std::string_view word = line.substr(0, colon);
    static constexpr std::string_view kNoHosts[] = {
        "error",   "warning", "fatal",      "info", "debug",  "note",    "kernel",
        "message", "reason",  "slurmstepd", "srun", "status", "critical"};
    const bool has_digit = std::any_of(word.begin(), word.end(), Digit);
    if (LooksLikeHost(word) && has_digit && !word.starts_with("rank") &&
        std::none_of(std::begin(kNoHosts), std::end(kNoHosts),
                     [&](std::string_view no) { return EqualsIgnoreCase(no, word); }))
      return std::string(word);
  }
  return "";
}

}  // namespace

bool IsNameChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
}

bool IsMonth(std::string_view word) { return word.size() == 3 && MonthOf(word, 0) > 0; }

bool HasClock(std::string_view word) {
  for (size_t i = 0; i + 8 <= word.size(); ++i)
    if ((i == 0 || (!Digit(word[i - 1]) && word[i - 1] != ':')) && Clock(word, i)) return true;
  return false;
}

std::optional<TimePoint> FindTime(std::string_view line) {
  const std::string_view s = line.substr(0, 160);
  for (size_t i = 0; i + 8 <= s.size(); ++i) {
    if (!Digit(s[i]) || s[i + 2] != ':' || (i > 0 && Digit(s[i - 1]))) continue;
    const auto clock = Clock(s, i);
    if (!clock || i < 5) continue;
    // What stands before the clock is the date.
    if (s[i - 1] == 'T' || s[i - 1] == ' ') {
      if (i >= 11 && (s[i - 4] == '-' || s[i - 4] == '/') && (s[i - 7] == '-' || s[i - 7] == '/') &&
          Digits(s, i - 11, 4) > 1990)
        return At(Digits(s, i - 6, 2), Digits(s, i - 3, 2), clock);
      if (i >= 11 && s[i - 6] == '/' && s[i - 9] == '/')
        return At(Digits(s, i - 11, 2), Digits(s, i - 8, 2), clock);
      if (Digits(s, i - 5, 4) > 0 && s[i - 1] == ' ' && (i == 5 || !Digit(s[i - 6])))
        return At(Digits(s, i - 5, 2), Digits(s, i - 3, 2), clock);  // glog: E1120 23:31:00
      if (i >= 7 && MonthOf(s, i - 7) > 0) {
        const int tens = s[i - 3] == ' ' ? 0 : s[i - 3] - '0';
        return At(MonthOf(s, i - 7), tens * 10 + (s[i - 2] - '0'), clock);
      }
    }
  }
  return std::nullopt;
}

RunnerPrefix ReadRunnerPrefix(std::string_view line) {
  if (line.empty()) return {};
  if (line[0] == '[') {
    const size_t end = line.substr(0, 200).find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view inside = line.substr(1, end - 1), rest = line.substr(end);
    if (rest.starts_with("]<stdout>:") || rest.starts_with("]<stderr>:")) {
      // PRRTE names the job's host and sets a blank behind the colon.
      const bool blank = Contains(inside, "@") && rest.size() > 10 && rest[10] == ' ';
      return {line.substr(0, end + (blank ? 11 : 10)), ""};
    }
    if (rest.starts_with("]:") && inside.starts_with("default") && inside.size() > 7 &&
        std::all_of(inside.begin() + 7, inside.end(), Digit))
      return {line.substr(0, end + 2), ""};
    if (rest.starts_with("] ") && inside.starts_with("pod/"))
      return {line.substr(0, end + 2), RunnerHost(line)};
    return {};
  }
  size_t i = 0;
  while (i < line.size() && i < 5 && line[i] == ' ') ++i;
  const size_t begin = i;
  while (i < line.size() && i < 64 && IsNameChar(line[i])) ++i;
  if (i == begin || i >= line.size() || line[i] != ':') return {};
  const std::string_view word = line.substr(begin, i - begin);
  const size_t length = i + 1 < line.size() && line[i + 1] == ' ' ? i + 2 : i + 1;
  if (length == i + 1 && i + 1 != line.size()) return {};
  if (std::all_of(word.begin(), word.end(), Digit)) return {line.substr(0, length), ""};
  std::string host = begin == 0 ? RunnerHost(std::string(word) + ": ") : "";
  if (host.empty()) return {};
  return {line.substr(0, length), std::move(host)};
}

Speaker ReadSpeaker(std::string_view line) {
  Speaker speaker;
  speaker.rank = RankIn(line);
  speaker.host = NcclHost(line);
  if (speaker.host.empty()) speaker.host = SyslogHost(line);
  if (speaker.host.empty()) speaker.host = RunnerHost(line);
  speaker.time = FindTime(line);
  return speaker;
}

void Attach(const Speaker& speaker, Fact& fact) {
  if (fact.Get("host").empty()) fact.Set("host", speaker.host);
  if (fact.Get("rank").empty()) fact.Set("rank", speaker.rank);
  if (!fact.time) fact.time = speaker.time;
}

}  // namespace muster::diagnose
