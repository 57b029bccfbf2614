#include "app/alerts/alert_book.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::json;
using Type = AlertRecordType;
using Stage = AlertEpisode::Stage;

constexpr Duration kClockSkew = std::chrono::minutes(5);

// Times are kept as text, to the millisecond.
Json EpisodeJson(const AlertEpisode& e) {
  return {{"fingerprint", e.alert.fingerprint},
          {"startsAt", FormatTime(e.alert.starts_at)},
          {"labels", e.alert.labels},
          {"runbook", e.runbook},
          {"on", {{"kind", ToString(e.on.kind)}, {"id", e.on.id}}},
          {"inputs", e.inputs},
          {"staleAfterMs",
           std::chrono::duration_cast<std::chrono::milliseconds>(e.stale_after).count()}};
}

AlertEpisode EpisodeFrom(const Json& json) {
  AlertEpisode e;
  e.alert.fingerprint = json.at("fingerprint").get<std::string>();
  e.alert.starts_at = ParseTime(json.at("startsAt").get<std::string>()).value();
  e.alert.labels = json.at("labels").get<std::map<std::string, std::string>>();
  e.alert.name = e.alert.labels.at("alertname");
  e.runbook = json.at("runbook").get<std::string>();
  e.on.kind = ParseSubjectKind(json.at("on").at("kind").get<std::string>()).value();
  e.on.id = json.at("on").at("id").get<std::string>();
  e.inputs = json.at("inputs").get<std::map<std::string, std::string>>();
  e.stale_after = std::chrono::milliseconds(json.at("staleAfterMs").get<int64_t>());
  return e;
}

AlertDecision Says(AlertDecision::Kind kind, std::string why, std::string episode = "") {
  return {kind, std::move(why), std::move(episode)};
}

}  // namespace

std::string_view ToString(Stage stage) {
  constexpr std::string_view kNames[] = {"heard", "planned", "closed"};
  return kNames[static_cast<size_t>(stage)];
}

std::string EncodeAlertRecord(const AlertRecord& record) {
  const AlertEpisode& e = record.episode;
  Json json = {{"id", e.id}, {"at", FormatTime(record.at)}};
  switch (record.type) {
    case Type::kHeard:
      json["episode"] = EpisodeJson(e);
      break;
    case Type::kPlanned:
      json["plan"] = e.plan_hash;
      json["run"] = e.run;
      break;
    case Type::kApproved:
      json["by"] = e.approved_by;
      break;
    case Type::kResolved:
    case Type::kForgotten:
      break;
    case Type::kClosed:
      json["end"] = e.end;
      json["why"] = e.why;
      break;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<AlertRecord> DecodeAlertRecord(uint32_t type, std::string_view payload) {
  if (type < 1 || type > static_cast<uint32_t>(Type::kForgotten))
    return Fail(Code::kCorrupt, fmt::format("record type {} is not known", type));
  AlertRecord record;
  record.type = static_cast<Type>(type);
  // A library's exceptions, and those of Result::value, are caught where they begin.
  try {
    const Json json = Json::parse(payload);
    if (record.type == Type::kHeard) record.episode = EpisodeFrom(json.at("episode"));
    record.episode.id = json.at("id").get<std::string>();
    const auto at = ParseTime(json.at("at").get<std::string>());
    if (!at.ok()) return Fail(Code::kCorrupt, at.error().message);
    record.at = *at;
    if (record.type == Type::kPlanned) {
      record.episode.plan_hash = json.at("plan").get<std::string>();
      record.episode.run = json.at("run").get<std::string>();
    }
    if (record.type == Type::kApproved) record.episode.approved_by = json.at("by");
    if (record.type == Type::kClosed) {
      record.episode.end = json.at("end").get<std::string>();
      record.episode.why = json.at("why").get<std::string>();
    }
  } catch (const std::exception& error) {
    return Fail(Code::kCorrupt, fmt::format("an alert's record cannot be read: {}", error.what()));
  }
  return record;
}

size_t AlertBook::NumberOf(std::string_view id) {
  const auto number = StartsWith(id, "a-") ? ParseInt(id.substr(2)) : Result<int64_t>(0);
  return number.ok() && *number > 0 ? static_cast<size_t>(*number) : 0;
}

const AlertEpisode* AlertBook::Find(std::string_view id) const {
  const size_t number = NumberOf(id);
  if (number <= forgotten_ || number - forgotten_ > episodes_.size()) return nullptr;
  return &episodes_[number - forgotten_ - 1];
}

size_t AlertBook::Forgettable(TimePoint now, TimePoint closed_before) const {
  size_t count = 0;
  for (const AlertEpisode& episode : episodes_) {
    // Repeated, it would be stale: twice over, should the runbook's word be made longer.
    const bool stale = now - episode.alert.starts_at > 2 * episode.stale_after;
    if (episode.stage != Stage::kClosed || episode.closed_at >= closed_before || !stale) break;
    ++count;
  }
  return count;
}

Status AlertBook::Apply(const AlertRecord& record) {
  const auto odd = [&](std::string_view what) {
    return Fail(Code::kCorrupt, fmt::format("{}: {}", Printable(record.episode.id), what));
  };
  if (record.type == Type::kForgotten) {
    if (forgotten_ != 0 || !episodes_.empty())
      return odd("episodes are forgotten at the start only");
    forgotten_ = NumberOf(record.episode.id);
    return forgotten_ == 0 ? Status(odd("no episode is called so")) : Status();
  }
  if (record.type == Type::kHeard) {
    if (record.episode.id != NextId()) return odd("an episode out of its turn");
    AlertEpisode episode = record.episode;
    episode.stage = Stage::kHeard;
    episode.heard_at = record.at;
    by_fingerprint_[episode.alert.fingerprint].push_back(episodes_.size());
    open_list_.push_back(episodes_.size());
    ++open_;
    episodes_.push_back(std::move(episode));
    return {};
  }
  const AlertEpisode* found = Find(record.episode.id);
  if (found == nullptr) return odd("there is no such episode");
  AlertEpisode& episode = episodes_[static_cast<size_t>(found - episodes_.data())];
  if (episode.stage == Stage::kClosed) return odd("a record after its end");
  switch (record.type) {
    case Type::kPlanned:
      if (episode.stage != Stage::kHeard) return odd("planned twice");
      episode.stage = Stage::kPlanned;
      episode.plan_hash = record.episode.plan_hash;
      episode.run = record.episode.run;
      episode.planned_at = record.at;
      break;
    case Type::kApproved:
      if (episode.stage != Stage::kPlanned) return odd("approved without a plan");
      episode.approved_by = record.episode.approved_by;
      break;
    case Type::kResolved:
      episode.resolved = true;
      break;
    default:
      episode.stage = Stage::kClosed;
      episode.end = record.episode.end;
      episode.why = record.episode.why;
      episode.closed_at = record.at;
      --open_;
      std::erase(open_list_, static_cast<size_t>(&episode - episodes_.data()));
  }
  return {};
}

AlertDecision AlertBook::Decide(const Alert& alert, const AlertMatch& match, TimePoint now) const {
  using Kind = AlertDecision::Kind;
  const auto known = by_fingerprint_.find(alert.fingerprint);
  if (known != by_fingerprint_.end()) {
    for (auto it = known->second.rbegin(); it != known->second.rend(); ++it) {
      const AlertEpisode& episode = episodes_[*it];
      const bool open = episode.stage != Stage::kClosed;
      if (!alert.firing) {
        if (open && !episode.resolved) return Says(Kind::kResolves, "it is resolved", episode.id);
        if (open) return Says(Kind::kDuplicate, "resolved already", episode.id);
        continue;
      }
      if (episode.alert.starts_at == alert.starts_at || open)
        return Says(Kind::kDuplicate, open ? "it is under way" : "it was handled", episode.id);
    }
  }
  if (!alert.firing) return Says(Kind::kNothing, "resolved, and nothing of it is under way");
  if (!match.why_not.empty()) return Says(Kind::kNothing, match.why_not);
  if (alert.starts_at > now + kClockSkew)
    return Says(Kind::kNothing, "it begins in the future: the clocks disagree");
  if (now - alert.starts_at > match.stale_after)
    return Says(Kind::kNothing,
                fmt::format("stale: it began {} ago, {} is for at most {}; a person may plan it",
                            FormatDuration(now - alert.starts_at), match.runbook,
                            FormatDuration(match.stale_after)));
  for (const size_t index : open_list_) {
    const AlertEpisode& episode = episodes_[index];
    if (episode.runbook == match.runbook && episode.on == match.on)
      return Says(Kind::kDuplicate, "another alert of the same matter", episode.id);
  }
  return Says(Kind::kOpens, "");
}

}  // namespace muster
