#include "cli/kv-fit/kv_fit.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/kv_fit.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

namespace {

std::string InGib(double bytes) { return fmt::format("{:.2f} GiB", bytes / (1 << 30)); }

// Wider than a text fits in an int of an option.
struct Lengths {
  int max_model_len = 0, usual_len = 0, max_sequences = 256;
};

}  // namespace

ExitCode KvFitDeploy(const Invocation& invocation) {
  OutputOptions output;
  KvFitRequest request;
  Lengths lengths;
  std::string kv_type = "auto";
  Args args("kv-fit", "Does a model's KV cache fit, before it is deployed");
  args.Required("--config", request.config_file, "FILE", "The model's config.json");
  args.Option("--index", request.index_file, "FILE",
              "model.safetensors.index.json: its total_size is the weights");
  args.Option("--weights", request.weights, "SIZE", "Size of the weights, such as \"141 GB\"");
  args.Option("--gpu", request.gpu, "MODEL", "GPU model, such as H100");
  args.Option("--memory", request.memory, "SIZE",
              "Or its memory as nvidia-smi prints it, such as \"81559 MiB\"");
  args.Option("--gpus", request.deployment.tensor_parallel, "N", "Tensor-parallel ranks");
  args.Option("--pipeline", request.deployment.pipeline_parallel, "N", "Pipeline-parallel ranks");
  args.Option("--max-model-len", lengths.max_model_len, "TOKENS",
              "Longest request (default: the model's own)");
  args.Option("--usual-len", lengths.usual_len, "TOKENS",
              "Prompt and answer together at the p95 of the load");
  args.Option("--max-num-seqs", lengths.max_sequences, "N", "Requests at once (default 256)");
  args.Option("--gpu-memory-utilization", request.deployment.memory_share, "SHARE",
              "Share of the memory the server may use (default 0.9)");
  args.Option("--overhead", request.overhead, "SIZE",
              "Activations and runtime on each GPU, as the server prints them");
  args.Choice("--kv-cache-dtype", kv_type, {"auto", "fp8"}, "Type of the cache");
  output.AddTo(args);
  args.Example("muster kv-fit --config config.json --weights \"141 GB\" --gpu H100 --gpus 8");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  request.deployment.max_model_len = lengths.max_model_len;
  request.deployment.usual_len = lengths.usual_len;
  request.deployment.max_sequences = lengths.max_sequences;
  if (kv_type == "fp8") request.deployment.kv_element_bytes = 1;
  const auto sheet = FitDeploy(context.world.files, request);
  if (!sheet.ok()) return Complain(context, sheet.error());

  const KvFit& fit = sheet->fit;
  const Deployment& d = sheet->deployment;
  const Level level = !fit.starts ? Level::kFail : !fit.no_preemption ? Level::kWarn : Level::kPass;
  const std::string said =
      fit.tokens == 0
          ? "it does not start: weights and runtime leave no room for a cache; more GPUs, or a "
            "smaller type of the weights"
      : !fit.starts ? fmt::format(
                          "it does not start: the cache holds {} tokens, one request may "
                          "have {}; with --max-model-len {} it would",
                          fit.tokens, d.max_model_len, fit.longest_model_len)
      : !fit.no_preemption
          ? fmt::format("it starts, and will preempt when more than {:.0f} requests run at once",
                        fit.concurrency_at_usual)
          : fmt::format("it starts, and {} requests fit at once", d.max_sequences);
  Document doc;
  doc.kind = "KvFit";
  *doc.json = {{"verdict", ToString(level)},
               {"text", said},
               {"bytes_per_token", fit.bytes_per_token},
               {"weights_bytes_per_gpu", fit.weights_bytes},
               {"cache_bytes_per_gpu", fit.cache_bytes},
               {"cache_tokens", fit.tokens},
               {"concurrency_at_max_model_len", fit.concurrency_at_max},
               {"concurrency_at_usual_len", fit.concurrency_at_usual},
               {"longest_model_len", fit.longest_model_len},
               {"assumed", sheet->assumed}};
  Table table({});
  table.Row({"memory of a GPU", InGib(d.gpu_memory_bytes)});
  table.Row({"usable share", fmt::format("{:g}", d.memory_share)});
  table.Row({"weights on a GPU", InGib(fit.weights_bytes)});
  table.Row({"activations, runtime", InGib(d.overhead_bytes)});
  table.Row({"KV cache on a GPU", InGib(fit.cache_bytes)});
  table.Row({"a token takes", fmt::format("{:.0f} B", fit.bytes_per_token)});
  table.Row({"tokens it holds", fmt::format("{}", fit.tokens)});
  table.Row(
      {"requests of the longest length at once", fmt::format("{:.2f}", fit.concurrency_at_max)});
  doc.table = fmt::format("{}  {}\n\n{}", LevelWord(context, level), said, table.ToString(2));
  for (const std::string& assumed : sheet->assumed)
    doc.table += fmt::format("\nassumed: {}", Folded(context, assumed, 9));
  if (!sheet->assumed.empty()) doc.table += "\n";
  doc.cases = {{"kv-fit", request.config_file, level, said}};
  Emit(context, output, doc);
  return ExitCodeFor(level, false);
}

}  // namespace muster::cli
