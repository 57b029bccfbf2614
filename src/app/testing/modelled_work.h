// Ranks and an endpoint of a lab without a process: they print and answer what the real ones
// (backend/lab/work) would, from the lab's state, so that the proofs of gates 7 and 8 run in
// memory. Formats are written by the same functions that the real ones use.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/lab/state/lab_state.h"
#include "backend/lab/work/serve/openai_api.h"
#include "backend/lab/work/trainer/checkpoint.h"
#include "backend/lab/work/trainer/options.h"
#include "backend/lab/work/trainer/rank_log.h"
#include "base/strings.h"
#include "world/world.h"

namespace muster::testing {

inline constexpr const char* kModelledUrl = "http://127.0.0.1:1";

// What a rank of muster-train says; its shard is written through `files`. Rank 0 writes all shards:
// ranks do not run side by side here.
inline CommandResult ModelledTraining(Files& files, TimePoint now, const Command& command) {
  const auto identity = lab::ReadIdentity([&](const char* name) -> std::optional<std::string> {
    const auto it = command.env.find(name);
    return it == command.env.end() ? std::nullopt : std::optional(it->second);
  });
  const auto program = std::find(command.argv.begin(), command.argv.end(), "muster-train");
  const auto options = lab::ParseTrainOptions(
      std::span(command.argv).subspan(static_cast<size_t>(program - command.argv.begin()) + 1));
  const auto state = identity.ok() ? lab::LoadLab(files, identity->lab)
                                   : Result<lab::LabState>(Fail(identity.error()));
  if (!options.ok() || !state.ok()) return {2, false, false, "", "train: cannot be meant\n", {}};
  const lab::RankFaults faults = lab::FaultsOf(*state, identity->node, options->steps);
  constexpr double kStepSeconds = 0.02, kMfu = 0.4;
  lab::EndRecord end;
  std::string out = lab::StartLine(*identity, now) + lab::ConfigLine({}, options->batch, "model");
  for (int i = 1; i <= options->steps; ++i) {
    lab::StepRecord step;
    step.step = i;
    step.loss = step.local_loss = 2 + 2.5 / i;
    step.grad_norm = 0.1;
    step.tokens = options->batch;
    step.step_time = FromSeconds(kStepSeconds);
    step.compute_time = FromSeconds(kStepSeconds / 2 * faults.straggler_factor);
    out += lab::StepLine(step);
    end.loss = step.loss;
  }
  end.steps = options->steps;
  end.step_time_s = kStepSeconds;
  end.tokens_per_s = options->batch / kStepSeconds;
  end.flops = end.tokens_per_s * lab::ModelShape{}.FlopsPerToken();
  end.mfu = kMfu;
  end.peak_flops = end.flops / kMfu;
  const std::vector<float> values(64, 0.5f);
  lab::Manifest manifest;
  manifest.step = options->steps;
  manifest.seed = options->seed;
  for (int r = 0; r < identity->world; ++r) {
    if (r != identity->rank && identity->rank != 0) continue;
    const auto shard = lab::WriteShard(files, options->checkpoint, r, identity->world,
                                       identity->node, values, values, values);
    if (!shard.ok()) continue;
    manifest.shards.push_back(*shard);
    if (r == identity->rank) out += lab::CheckpointLine(options->checkpoint, *shard);
  }
  if (identity->rank == 0) {
    out += lab::ManifestLine(options->checkpoint, lab::WriteManifest(files, options->checkpoint,
                                                                     manifest, identity->world));
  }
  return {0, false, false, out + lab::EndLine(end) + lab::TitanLine(end), "", {}};
}

// The programs that a lab's work starts; kNotFound for any other.
inline Result<CommandResult> ModelledProgram(Files& files, TimePoint now, const Command& command) {
  const auto names = [&](const char* word) {
    return std::find(command.argv.begin(), command.argv.end(), word) != command.argv.end();
  };
  if (names("muster-train")) return ModelledTraining(files, now, command);
  if (names("true")) return CommandResult{};
  if (names("serve")) {
    const auto state = lab::LoadLab(files, command.env.at("MUSTER_LAB"));
    if (!state.ok() || state->FindAny("endpoint_down") != nullptr)
      return CommandResult{1, false, false, "", "the endpoint is down\n", {}};
    return CommandResult{0, false, false, fmt::format("listening on {}\n", kModelledUrl), "", {}};
  }
  return Fail(Code::kNotFound, "no such program");
}

// The endpoint of the lab in `folder`; anything else refuses the connection. Nothing is waited for:
// the times that callers are told are those that the lab's faults make.
class ModelledEndpoint final : public Http {
 public:
  ModelledEndpoint(Files& files, Clock& clock, std::string folder)
      : files_(files), clock_(clock), folder_(std::move(folder)) {}

  Result<HttpResponse> Do(const HttpRequest& request) override {
    if (request.url == std::string(kModelledUrl) + "/health") return Answer(R"({"status":"ok"})");
    if (request.url == std::string(kModelledUrl) + "/v1/models")
      return Answer(lab::ModelList("muster-char-lm", 0));
    return Fail(Code::kUnavailable, "connection refused");
  }
  Result<HttpResponse> Stream(const HttpRequest& request, const OnBytes& on_bytes,
                              Duration& sent_at) override {
    sent_at = clock_.Monotonic();
    if (!EndsWith(request.url, "/v1/chat/completions")) {
      TRY(HttpResponse response, Do(request));
      on_bytes(std::exchange(response.body, ""), sent_at + std::chrono::milliseconds(1));
      return response;
    }
    TRY(const lab::LabState state, lab::LoadLab(files_, folder_));
    HttpResponse response;
    if (state.FindAny("endpoint_failing") != nullptr) {
      response.status = 500;
      on_bytes(R"({"error":"the engine has failed"})", sent_at);
      return response;
    }
    double first = 0.02, between = 0.005;
    for (const char* kind : {"endpoint_slow", "kv_cache_pressure"}) {
      const lab::Fault* fault = state.FindAny(kind);
      if (fault == nullptr) continue;
      first = lab::Setting(*fault, "ttft_seconds");
      between = lab::Setting(*fault, "tpot_seconds");
    }
    const lab::AnswerHead head{true, "chatcmpl-1", "muster-char-lm", 0};
    constexpr int kTokens = 16;
    on_bytes(lab::RoleEvent(head), sent_at + std::chrono::milliseconds(1));
    for (int i = 0; i < kTokens; ++i)
      on_bytes(lab::ContentEvent(head, "a "), sent_at + FromSeconds(first + between * i));
    on_bytes(lab::FinishEvent(head, "length") + lab::UsageEvent(head, {24, kTokens}) +
                 std::string(lab::kDoneEvent),
             sent_at + FromSeconds(first + between * kTokens));
    response.status = 200;
    return response;
  }

 private:
  static HttpResponse Answer(std::string body) {
    HttpResponse response;
    response.status = 200;
    response.body = std::move(body);
    return response;
  }

  Files& files_;
  Clock& clock_;
  const std::string folder_;
};

}  // namespace muster::testing
