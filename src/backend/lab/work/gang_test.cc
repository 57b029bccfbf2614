// Real processes: a gang of ranks trains over loopback, writes a checkpoint, and a server answers
// from it.
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "backend/lab/state/lab_state.h"
#include "backend/lab/work/serve.h"
#include "backend/lab/work/trainer/checkpoint.h"
#include "backend/lab/work/trainer/options.h"
#include "base/strings.h"
#include "world/posix/free_port.h"
#include "world/posix/posix_world.h"

namespace muster::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

struct Ended {
  int exit_code = -1;
  std::string output;

  std::vector<Json> Events(const std::string& kind) const {
    std::vector<Json> events;
    for (const std::string_view line : Lines(output)) {
      Json json = Json::parse(line, nullptr, false);
      if (json.is_object() && json.value("event", "") == kind) events.push_back(std::move(json));
    }
    return events;
  }
};

class Gang : public ::testing::Test {
 protected:
  Gang() {
    std::string name = ::testing::TempDir() + "muster-gang-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Gang() override { static_cast<void>(world_.files.Remove(folder_).ok()); }

  void Inject(const std::string& kind, Subject on, std::map<std::string, double> with = {}) {
    LabState state =
        MakeLab(ParseClusterSpec("nodes=2,gpus=2,numa=1,rails=1,leaves=1,spines=1").value(), 1,
                world_.clock.Now());
    state.folder = folder_;
    state.faults.push_back({kind, std::move(on), state.created, std::move(with)});
    ASSERT_TRUE(SaveLab(world_.files, state).ok());
    lab_ = folder_;
  }

  // Ranks 0 to 3, two a node; those in `left_out` are never started.
  std::vector<Ended> Train(const std::vector<std::string>& args,
                           const std::vector<int>& left_out = {}) {
    constexpr int kWorld = 4;
    const int port = FreeLoopbackPort().value();
    std::vector<std::unique_ptr<Child>> children(kWorld);
    for (int r = 0; r < kWorld; ++r) {
      if (std::find(left_out.begin(), left_out.end(), r) != left_out.end()) continue;
      Command command;
      command.argv = {MUSTER_LAB_RANK, "train"};
      command.argv.insert(command.argv.end(), args.begin(), args.end());
      command.env = {{"RANK", std::to_string(r)},
                     {"WORLD_SIZE", std::to_string(kWorld)},
                     {"LOCAL_RANK", std::to_string(r % 2)},
                     {"MASTER_ADDR", "127.0.0.1"},
                     {"MASTER_PORT", std::to_string(port)},
                     {"MUSTER_NODE", fmt::format("node{:03}", r / 2)},
                     {"MUSTER_LAB", lab_}};
      auto child = world_.processes.Start(command, "");
      EXPECT_TRUE(child.ok());
      children[static_cast<size_t>(r)] = std::move(*child);
    }
    std::vector<Ended> ended(kWorld);
    for (size_t r = 0; r < kWorld; ++r) {
      if (!children[r]) continue;
      ended[r].exit_code = children[r]->Wait(std::chrono::seconds(120)).value_or(-1);
      ended[r].output = children[r]->Output();
    }
    return ended;
  }
  std::string Ck(const std::string& name) const { return folder_ + "/" + name; }
  TrainingState State(const std::string& name) {
    const Manifest manifest = ReadManifest(world_.files, Ck(name)).value();
    return ReadCheckpoint(world_.files, Ck(name), manifest).value();
  }
  ServedEndpoint Serve() {
    EndpointOptions options;
    options.argv = {MUSTER_LAB_RANK, "serve"};
    options.checkpoint = Ck("ck");
    options.lab = lab_;
    auto endpoint = StartEndpoint(world_, options);
    EXPECT_TRUE(endpoint.ok()) << endpoint.error().ToString();
    return std::move(*endpoint);
  }
  HttpResponse Post(const ServedEndpoint& endpoint, const std::string& path,
                    const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    request.url = endpoint.url + path;
    request.body = body;
    auto response = world_.http.Do(request);
    EXPECT_TRUE(response.ok());
    return response.value_or(HttpResponse{});
  }

  PosixWorld machine_;
  World world_ = machine_.ports();
  std::string folder_, lab_;
};

TEST_F(Gang, TrainsTogetherAndWritesACheckpointThatVerifies) {
  const auto ranks = Train({"--steps", "20", "--checkpoint", Ck("ck")});
  for (const Ended& rank : ranks) {
    ASSERT_EQ(rank.exit_code, 0) << rank.output;
    const auto steps = rank.Events("step");
    ASSERT_EQ(steps.size(), 20u);
    EXPECT_LT(steps.back()["loss"].get<double>(), 0.75 * steps.front()["loss"].get<double>());
    // The loss of the gang is one loss.
    EXPECT_EQ(steps.back()["loss"], ranks[0].Events("step").back()["loss"]);
    EXPECT_GT(rank.Events("end").at(0)["peak_flops"].get<double>(), 0);
    EXPECT_THAT(rank.output, HasSubstr("\nstep: 20  loss: "));
  }
  const TrainingState state = State("ck");
  EXPECT_EQ(state.parameters.size(), ModelShape{}.Parameters());
}

TEST_F(Gang, ASecondRunAndAResumedRunEndInTheSameBits) {
  Train({"--steps", "6", "--batch", "64", "--checkpoint", Ck("whole")});
  Train({"--steps", "6", "--batch", "64", "--checkpoint", Ck("again")});
  Train({"--steps", "3", "--batch", "64", "--checkpoint", Ck("half")});
  const auto resumed = Train(
      {"--steps", "3", "--batch", "64", "--resume", Ck("half"), "--checkpoint", Ck("resumed")});
  EXPECT_EQ(resumed[0].Events("step").front()["step"], 4);
  EXPECT_EQ(State("whole").parameters, State("again").parameters);
  EXPECT_EQ(State("whole").parameters, State("resumed").parameters);
  EXPECT_EQ(State("whole").second, State("resumed").second);
}

TEST_F(Gang, ARankThatNeverComesIsNamedByTheOthersInBoundedTime) {
  const auto ranks = Train({"--rendezvous-timeout", "1s"}, {2});
  for (const int r : {0, 1, 3}) {
    EXPECT_EQ(ranks[static_cast<size_t>(r)].exit_code, 1);
    EXPECT_THAT(ranks[static_cast<size_t>(r)].output, HasSubstr("missing rank 2"));
  }
}

TEST_F(Gang, AFullDiskOnOneNodeMakesNoCheckpoint) {
  Inject("checkpoint_disk_full", NodeSubject("node001"));
  const auto ranks = Train({"--steps", "3", "--batch", "64", "--checkpoint", Ck("ck")});
  for (const Ended& rank : ranks) ASSERT_EQ(rank.Events("checkpoint").size(), 1u) << rank.output;
  for (const Ended& rank : ranks) EXPECT_EQ(rank.exit_code, 1);
  EXPECT_EQ(ranks[2].Events("checkpoint").at(0)["written"], false);
  EXPECT_EQ(ranks[0].Events("checkpoint").at(0)["written"], true);
  EXPECT_EQ(ReadManifest(world_.files, Ck("ck")).error().code, Code::kNotFound);
}

TEST_F(Gang, AStragglerComputesLongerAndAnUnfitLossIsSkippedByAll) {
  Inject("straggler", NodeSubject("node001"), {{"factor", 4}});
  const auto slow = Train({"--steps", "9"});
  const auto compute = [](const Ended& rank) {
    std::vector<double> times;
    for (const Json& step : rank.Events("step"))
      times.push_back(step["compute_time_s"].get<double>());
    std::nth_element(times.begin(), times.begin() + 4, times.end());
    return times.at(4);
  };
  EXPECT_GT(compute(slow[3]), 2 * compute(slow[0]));

  Inject("nan_loss", NodeSubject("node000"), {{"step", 2}});
  const auto broken = Train({"--steps", "6", "--batch", "64"});
  for (const Ended& rank : broken) {
    EXPECT_EQ(rank.exit_code, 0);
    EXPECT_EQ(rank.Events("step").at(1)["loss"], "nan");
    EXPECT_TRUE(rank.Events("step").at(5)["loss"].is_number());
  }
  EXPECT_EQ(broken[0].Events("step").at(1)["local_loss"], "nan");
  EXPECT_TRUE(broken[3].Events("step").at(1)["local_loss"].is_number());
}

TEST_F(Gang, AServerAnswersFromTheCheckpoint) {
  Train({"--steps", "20", "--batch", "128", "--checkpoint", Ck("ck")});
  const ServedEndpoint endpoint = Serve();
  ASSERT_TRUE(endpoint.ready) << endpoint.why;

  const std::string ask =
      R"({"messages":[{"role":"user","content":"The machine room"}],"max_tokens":40,"seed":3)";
  const Json whole = Json::parse(Post(endpoint, "/v1/chat/completions", ask + "}").body);
  const std::string text = whole["choices"][0]["message"]["content"];
  EXPECT_EQ(text.size(), 40u);
  EXPECT_EQ(whole["usage"]["completion_tokens"], 40);

  const HttpResponse stream =
      Post(endpoint, "/v1/chat/completions",
           ask + R"(,"stream":true,"stream_options":{"include_usage":true}})");
  EXPECT_THAT(stream.headers.at("content-type"), HasSubstr("text/event-stream"));
  std::string streamed;
  int usage = 0;
  for (const std::string_view line : Lines(stream.body)) {
    const auto data = After(line, "data: ");
    if (!data || *data == "[DONE]") continue;
    const Json chunk = Json::parse(*data);
    if (chunk.contains("usage")) usage = chunk["usage"]["completion_tokens"];
    if (!chunk["choices"].empty()) streamed += chunk["choices"][0]["delta"].value("content", "");
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(usage, 40);
  EXPECT_TRUE(EndsWith(stream.body, "data: [DONE]\n\n"));

  EXPECT_EQ(Post(endpoint, "/v1/completions", R"({"prompt":"a","max_tokens":3})").status, 200);
  EXPECT_EQ(Post(endpoint, "/v1/chat/completions", "{").status, 400);
  EXPECT_EQ(Post(endpoint, "/v1/chat/completions",
                 R"({"model":"gpt","messages":[{"role":"user","content":"a"}]})")
                .status,
            404);
  const HttpResponse nowhere = Post(endpoint, "/v1/nothing", "{}");
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(Json::parse(nowhere.body)["error"]["code"], 404);
  HttpRequest get;
  get.url = endpoint.url + "/v1/models";
  EXPECT_THAT(world_.http.Do(get)->body, HasSubstr(kServedModel));
  get.url = endpoint.url + "/metrics";
  EXPECT_THAT(world_.http.Do(get)->body, HasSubstr("vllm:generation_tokens_total"));
}

TEST_F(Gang, TheEndpointsFaultsShow) {
  Train({"--steps", "2", "--batch", "64", "--checkpoint", Ck("ck")});
  Inject("endpoint_failing", {SubjectKind::kEndpoint, "openai"}, {{"ratio", 0.5}});
  {
    const ServedEndpoint endpoint = Serve();
    ASSERT_TRUE(endpoint.ready);
    int failed = 0;
    for (int i = 0; i < 8; ++i)
      failed += Post(endpoint, "/v1/completions", R"({"prompt":"a","max_tokens":1})").status == 500
                    ? 1
                    : 0;
    EXPECT_EQ(failed, 4);
    // Seen while it runs: the engine stops, and the process ends with its reason.
    Inject("endpoint_down", {SubjectKind::kEndpoint, "openai"});
    EXPECT_EQ(endpoint.child->Wait(std::chrono::seconds(30)).value_or(-1), 1);
  }
  const ServedEndpoint down = Serve();
  EXPECT_FALSE(down.ready);
  EXPECT_THAT(down.url, HasSubstr("http://127.0.0.1:"));
  EXPECT_THAT(down.why, HasSubstr("endpoint_down"));
}

TEST_F(Gang, AServerWithoutACheckpointSaysSo) {
  EndpointOptions options;
  options.argv = {MUSTER_LAB_RANK, "serve"};
  options.checkpoint = Ck("nothing");
  const auto endpoint = StartEndpoint(world_, options);
  ASSERT_FALSE(endpoint.ok());
  EXPECT_THAT(endpoint.error().message, HasSubstr("manifest"));
}

}  // namespace
}  // namespace muster::lab
