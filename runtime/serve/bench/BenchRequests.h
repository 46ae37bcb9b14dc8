// The requests of a benchmark: from a file in trtllm-bench's format, or random.

#ifndef RECIPERUN_SERVE_BENCH_BENCHREQUESTS_H
#define RECIPERUN_SERVE_BENCH_BENCHREQUESTS_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::serve {

/// A request for exactly `outputTokens` tokens after the prompt.
struct BenchRequest {
  std::vector<int32_t> prompt; // token ids
  int64_t outputTokens = 0;
};

/// Reads a JSONL file with rows such as `{"task_id": 1, "prompt": "...",
/// "output_tokens": 128}`, or with `input_ids`, a list of token ids, in place
/// of `prompt`. Reads at most `most` requests. `tokenizer` encodes prompts and
/// adds the tokens that it puts around a text; it is null if the model has
/// none. Fails, naming the line, when a row has another format, an empty prompt
/// or an id outside of `vocab`.
Expected<std::vector<BenchRequest>>
readBenchRequests(const std::string& path, int64_t most,
                  const data::Tokenizer* tokenizer, int64_t vocab);

/// `count` requests of `inputTokens` ids, drawn uniformly below `vocab` from
/// the seed.
std::vector<BenchRequest> randomBenchRequests(int64_t count,
                                              int64_t inputTokens,
                                              int64_t outputTokens,
                                              int64_t vocab, uint64_t seed);

/// `count` requests with random ids and the lengths of `requests`, which are
/// reused cyclically. They share no prefix with `requests` that a cache could
/// reuse.
std::vector<BenchRequest>
warmupRequests(const std::vector<BenchRequest>& requests, int64_t count,
               int64_t vocab, uint64_t seed);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHREQUESTS_H
