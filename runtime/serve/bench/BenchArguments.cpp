// Declares the options and checks their combinations.

#include "runtime/serve/bench/BenchArguments.h"

#include "runtime/cli/Options.h"

namespace reciperun::serve {
namespace {

std::vector<cli::Option> requestOptions(BenchArguments& arguments) {
  return {
      cli::pathOrAddress(
          "--dataset", "FILE",
          "requests, an object a line: `prompt` or `input_ids`, and "
          "`output_tokens`",
          arguments.dataset),
      cli::number("--requests", "N",
                  "number of requests (100), or the most to read of --dataset "
                  "(all)",
                  1, arguments.requests),
      cli::number("--input-tokens", "N", "length of random prompts (128)", 1,
                  arguments.inputTokens),
      cli::number("--output-tokens", "N",
                  "length of the answers to random prompts (128)", 1,
                  arguments.outputTokens),
      cli::number("--seed", "S", "of random prompts and arrivals (0)", 0,
                  arguments.seed)};
}

std::vector<cli::Option> loadOptions(BenchArguments& arguments) {
  return {
      cli::number("--concurrency", "N",
                  "the most requests in progress (unlimited)", 1,
                  arguments.concurrency),
      cli::number("--request-rate", "R",
                  "requests a second, at random times (0: all at the start)", 0,
                  arguments.requestRate),
      cli::number("--warmup", "N", "requests before the measurement (2)", 0,
                  arguments.warmup),
      adapterOption("requests use those given in turn", arguments.adapters),
      cli::number("--threads", "N",
                  "of the CPU (`OMP_NUM_THREADS`, or all cores)", 1,
                  arguments.threads),
      cli::text("--report-json", "FILE", "write the statistics to a file",
                arguments.reportPath)};
}

cli::Check checkBench(const BenchArguments& arguments) {
  const bool hasLengths =
      arguments.inputTokens > 0 || arguments.outputTokens > 0;
  if (!arguments.dataset.empty() && hasLengths)
    return cli::UsageError{"`--input-tokens` and `--output-tokens` are of "
                           "random requests; those of `--dataset` have their "
                           "own lengths",
                           "leave `--dataset` out, or the lengths"};
  return std::nullopt;
}

} // namespace

cli::Command describeBenchServe(BenchArguments& arguments) {
  std::vector<cli::Option> options = requestOptions(arguments);
  for (cli::Option& each : loadOptions(arguments))
    options.push_back(std::move(each));
  for (cli::Option& each : describeDistribution(arguments.sampling))
    options.push_back(std::move(each));
  return {.name = "serve",
          .synopsis = "DIR [options]",
          .summary = "measure the serving of a model",
          .details =
              "Serves requests with the model in DIR and prints throughput, "
              "time to first token (TTFT), time per output token (TPOT), "
              "inter-token latency (ITL) and request latency, with the names "
              "and the dataset format of trtllm-bench. Each answer has exactly "
              "the tokens asked for: end tokens are ignored.",
          .options = std::move(options),
          .operands = {1, 1, "the model's directory", &arguments.directories,
                       /*takeAddresses=*/true},
          .check = [&arguments] { return checkBench(arguments); }};
}

} // namespace reciperun::serve
