// Bodies of /v1/embeddings, and the form of vectors.

#include "runtime/server/openai/Embeddings.h"

#include <gtest/gtest.h>

#include <variant>

namespace reciperun::server {
namespace {

TEST(Embeddings, InputsAreTextsAndIds) {
  const auto request = readEmbeddingRequest(
      R"({"input": ["a", [1, 2]], "encoding_format": "base64", "model": "m",
          "dimensions": 8, "cache_salt": "s", "truncate_prompt_tokens": -1})");
  ASSERT_TRUE(request) << request.message();
  ASSERT_EQ(request->inputs.size(), 2u);
  EXPECT_EQ(std::get<std::string>(request->inputs[0]), "a");
  EXPECT_TRUE(request->isBase64);
  EXPECT_EQ(request->dimensions, 8);
  EXPECT_EQ(request->common.model, "m");
  EXPECT_EQ(request->common.cacheSalt, "s");
  EXPECT_EQ(request->common.lastTokens, -1);
}

TEST(Embeddings, WrongBodiesAreRefused) {
  for (const auto& [body, reason] :
       std::vector<std::pair<const char*, const char*>>{
           {"1", "the body must be a JSON object"},
           {"{}", "`input` is missing"},
           {R"({"input": []})", "`input` is empty"},
           {R"({"input": [""]})", "`input` is empty"},
           {R"({"input": {}})", "`input` must be a text"},
           {R"({"input": "a", "encoding_format": "hex"})",
            "`encoding_format` must be `float` or `base64`"},
           {R"({"input": "a", "dimensions": 0})", "`dimensions` must be"},
           {R"({"input": "a", "messages": []})", "`messages` is not supported"},
           {R"({"input": "a", "user": 1})", "`user` must be a text"}}) {
    const auto request = readEmbeddingRequest(body);
    ASSERT_FALSE(request) << body;
    EXPECT_NE(request.message().find(reason), std::string::npos)
        << request.message();
  }
}

TEST(Embeddings, HaveLengthOne) {
  std::vector<float> vector = {3, 0, -4};
  normalize(vector);
  EXPECT_EQ(vector, std::vector<float>({0.6f, 0, -0.8f}));
  std::vector<float> zeros = {0, 0};
  normalize(zeros);
  EXPECT_EQ(zeros, std::vector<float>({0, 0}));
}

/// Python's base64.b64encode(struct.pack("<...f", ...)).
TEST(Embeddings, AreLittleEndianFloatsInBase64) {
  EXPECT_EQ(base64Of({1}), "AACAPw==");
  EXPECT_EQ(base64Of({1, -2}), "AACAPwAAAMA=");
  EXPECT_EQ(base64Of({1, -2, 0.5f}), "AACAPwAAAMAAAAA/");
}

} // namespace
} // namespace reciperun::server
