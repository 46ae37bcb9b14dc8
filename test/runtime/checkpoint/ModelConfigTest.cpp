// config.json compared with the plan's: fields that must agree, fields that may
// differ, and the two spellings of rope.

#include "runtime/checkpoint/ModelConfig.h"
#include "test/runtime/Says.h"

#include <gtest/gtest.h>

namespace reciperun::checkpoint {
namespace {

std::string check(std::string_view theirs, std::string_view ours) {
  return checkModelConfig("`config.json`", theirs, ours).message();
}

TEST(ModelConfig, NamesTheKeyAndBothValues) {
  std::string message =
      check(R"({"hidden_size": 64})", R"({"hidden_size": 128})");
  EXPECT_NE(message.find("`hidden_size` is 64"), std::string::npos) << message;
  EXPECT_NE(message.find("has 128"), std::string::npos) << message;
}

TEST(ModelConfig, IgnoresWhatOnlyOneHasAndWhatIsCosmetic) {
  EXPECT_EQ(check(R"({"vocab_size": 8, "use_cache": true, "x": 1,)"
                  R"("torch_dtype": "bfloat16", "eos_token_id": [1, 2]})",
                  R"({"vocab_size": 8, "use_cache": false, "y": 2,)"
                  R"("torch_dtype": "float32", "eos_token_id": 1})"),
            "");
}

TEST(ModelConfig, ComparesNumbersByValue) {
  EXPECT_EQ(check(R"({"rms_norm_eps": 9.999999974752427e-06})",
                  R"({"rms_norm_eps": 1e-5})"),
            "");
  EXPECT_EQ(check(R"({"rope_theta": 500000})", R"({"rope_theta": 500000.0})"),
            "");
  EXPECT_NE(check(R"({"rms_norm_eps": 1e-6})", R"({"rms_norm_eps": 1e-5})"),
            "");
}

TEST(ModelConfig, KnowsBothSpellingsOfRope) {
  constexpr std::string_view ours =
      R"({"rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3",)"
      R"("factor": 8.0, "low_freq_factor": 1.0}})";
  EXPECT_EQ(check(R"({"rope_parameters": {"rope_theta": 500000.0,)"
                  R"("rope_type": "llama3", "factor": 8.0,)"
                  R"("low_freq_factor": 1.0}})",
                  ours),
            "");
  EXPECT_EQ(check(R"({"rope_theta": 500000.0, "rope_scaling": {"type":)"
                  R"("llama3", "factor": 8, "low_freq_factor": 1}})",
                  ours),
            "");
  EXPECT_NE(check(R"({"rope_theta": 500000.0, "rope_scaling":)"
                  R"({"rope_type": "llama3", "factor": 32.0}})",
                  ours),
            "");
}

TEST(ModelConfig, AbsentKeysHaveTheirDefaults) {
  EXPECT_EQ(check(R"({"rope_parameters": {"rope_theta": 10000.0,)"
                  R"("rope_type": "default"}})",
                  R"({"rope_theta": 10000.0, "rope_scaling": null})"),
            "");
  EXPECT_PRED2(says, check("{}", R"({"rope_theta": 500000.0})"),
               "`rope_theta` is 10000.0, but the recipe's model has 500000.0");
  EXPECT_NE(check("{}", R"({"rope_scaling": {"rope_type": "linear",)"
                        R"("factor": 2.0}})"),
            "");
  EXPECT_PRED2(
      says, check("{}", R"({"tie_word_embeddings": true})"),
      "`tie_word_embeddings` is false, but the recipe's model has true");
}

TEST(ModelConfig, RefusesWhatIsNoObject) {
  EXPECT_NE(check("[]", "{}").find("it is no JSON object"), std::string::npos);
  EXPECT_NE(check("{", "{}").find("the file ends inside a value"),
            std::string::npos);
  EXPECT_NE(check(std::string(100000, '['), "{}").find("128 deep"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::checkpoint
