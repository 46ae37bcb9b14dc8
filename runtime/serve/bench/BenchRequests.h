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

/// Reads a JSONL file: `{"task_id": 1, "prompt": "...", "output_tokens": 128}`
/// a line, or `input_ids`, a list of token ids, in place of `prompt`. Reads at
/// most `most` requests. `tokenizer` encodes prompts, with the tokens that it
/// adds around a text; null where the model has none. Fails, naming the line,
/// when a row has another format, an empty prompt or an id outside of `vocab`.
Expected<std::vector<BenchRequest>>
readBenchRequests(const std::string& path, int64_t most,
                  const data::Tokenizer* tokenizer, int64_t vocab);

/// `count` requests of `inputTokens` uniformly random ids below `vocab`, a
/// function of the seed.
std::vector<BenchRequest> randomBenchRequests(int64_t count,
                                              int64_t inputTokens,
                                              int64_t outputTokens,
                                              int64_t vocab, uint64_t seed);

/// `count` requests with the lengths of the first of `requests`, in turn, and
/// random ids: they share no prefix with them that a cache could reuse.
std::vector<BenchRequest>
warmupRequests(const std::vector<BenchRequest>& requests, int64_t count,
               int64_t vocab, uint64_t seed);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHREQUESTS_H
