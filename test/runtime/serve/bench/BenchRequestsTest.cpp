// Requests from files in trtllm-bench's format, and random ones.

#include "runtime/serve/bench/BenchRequests.h"

#include "test/runtime/Says.h"
#include "test/runtime/checkpoint/TestFolder.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reciperun::serve {
namespace {

constexpr int64_t vocab = 302;

const data::Tokenizer& tokenizer() {
  static const Expected<data::Tokenizer> parsed =
      data::Tokenizer::parse(data::smallTokenizer().dump(), "small");
  return *parsed;
}

Expected<std::vector<BenchRequest>> requestsOf(std::string_view text,
                                               int64_t most = 100,
                                               bool hasTokenizer = true) {
  checkpoint::TestFolder folder;
  return readBenchRequests(folder.write("requests.jsonl", text).string(), most,
                           hasTokenizer ? &tokenizer() : nullptr, vocab);
}

using Ids = std::vector<int32_t>;

TEST(BenchRequests, AreTextsAndIds) {
  const std::string text =
      R"({"task_id": 1, "prompt": "hello", "output_tokens": 128})"
      "\n\n"
      R"({"task_id": 2, "input_ids": [3, 301], "output_tokens": 1})"
      "\r\n";
  const auto requests = requestsOf(text);
  ASSERT_TRUE(requests) << requests.message();
  ASSERT_EQ(requests->size(), 2u);
  EXPECT_EQ((*requests)[0].prompt, Ids{259});
  EXPECT_EQ((*requests)[0].outputTokens, 128);
  EXPECT_EQ((*requests)[1].prompt, (Ids{3, 301}));
  EXPECT_EQ(requestsOf(text, /*most=*/1)->size(), 1u);
}

TEST(BenchRequests, SayWhatIsWrongInWhichLine) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"output_tokens": 1})",
       "line 1: a row needs `prompt` or `input_ids`, and has neither"},
      {R"({"prompt": "a", "input_ids": [1], "output_tokens": 1})", "has both"},
      {R"({"prompt": 3, "output_tokens": 1})", "`prompt` is of type number"},
      {R"({"prompt": "a", "completion": "b"})",
       "no field `output_tokens`, the length of the answer; its fields are "
       "`completion`, `prompt`"},
      {R"({"prompt": "a", "output_tokens": 0})", "`output_tokens` is 0"},
      {R"({"prompt": "", "output_tokens": 1})", "the prompt has no token"},
      {R"({"input_ids": [1, 302], "output_tokens": 1})",
       "`input_ids[1]` is 302, but the model's ids are 0 to 301"},
      {R"({"input_ids": "1", "output_tokens": 1})", "is of type string"},
      {"[1]", "the line is of type array"},
      {"{", "line 1: "},
      {" \n", "has no request; a line is an object with"}};
  for (const auto& [text, message] : cases)
    EXPECT_PRED2(says, requestsOf(text).message(), message);
  EXPECT_PRED2(says,
               requestsOf(R"({"prompt": "a", "output_tokens": 1})", 1,
                          /*hasTokenizer=*/false)
                   .message(),
               "no `tokenizer.json`; give `input_ids`");
  EXPECT_PRED2(says, readBenchRequests("no/such", 1, nullptr, vocab).message(),
               "No such file");
}

TEST(BenchRequests, RandomOnesFollowTheSeed) {
  const auto first = randomBenchRequests(3, 50, 9, vocab, 1);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].prompt.size(), 50u);
  EXPECT_EQ(first[0].outputTokens, 9);
  EXPECT_NE(first[0].prompt, first[1].prompt);
  EXPECT_EQ(first[2].prompt, randomBenchRequests(3, 50, 9, vocab, 1)[2].prompt);
  EXPECT_NE(first[2].prompt, randomBenchRequests(3, 50, 9, vocab, 2)[2].prompt);
  for (const BenchRequest& request : first)
    for (int32_t id : request.prompt)
      EXPECT_TRUE(id >= 0 && id < vocab);
}

TEST(BenchRequests, ThoseOfTheWarmupHaveOtherIds) {
  const std::vector<BenchRequest> requests =
      randomBenchRequests(2, 50, 9, vocab, 1);
  const auto warmup = warmupRequests(requests, 3, vocab, 1);
  ASSERT_EQ(warmup.size(), 3u);
  EXPECT_EQ(warmup[2].prompt.size(), 50u);
  EXPECT_EQ(warmup[2].outputTokens, 9);
  EXPECT_NE(warmup[0].prompt, requests[0].prompt);
  EXPECT_TRUE(warmupRequests(requests, 0, vocab, 1).empty());
}

} // namespace
} // namespace reciperun::serve
