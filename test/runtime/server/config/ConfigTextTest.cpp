// Parsing of config.pbtxt: messages, places and template variables.

#include "runtime/server/config/ConfigText.h"

#include "runtime/server/config/TemplateVariables.h"
#include "runtime/server/config/model_config.pb.h"

#include <gtest/gtest.h>

namespace reciperun::server {
namespace {

std::string textFailure(const std::string& text) {
  return parseConfigText(text, "config.pbtxt").message();
}

TEST(ConfigText, MessagesNameThePlaceAndTheFieldThatWasMeant) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"name: \"m\"\nmax_batch: 8\n",
       "config.pbtxt:2:1: unknown field `max_batch` of `ModelConfig`; did you "
       "mean `max_batch_size`?"},
      {"input { dim: 1 }",
       "config.pbtxt:1:9: unknown field `dim` of `ModelInput`; did you mean "
       "`dims`?"},
      {"preferred_batch_size: 4",
       "config.pbtxt:1:1: unknown field `preferred_batch_size` of "
       "`ModelConfig`; it is a field of `ModelDynamicBatching`"},
      {"\tqqqqqqqq : 4",
       "config.pbtxt:1:2: unknown field `qqqqqqqq` of `ModelConfig`"},
      {"input { data_type: TYPE_FP23\n\n}",
       "config.pbtxt:1:20: unknown value `TYPE_FP23` of `data_type`; did you "
       "mean `TYPE_FP32`?"},
      {"instance_group { kind: GPU }",
       "config.pbtxt:1:24: unknown value `GPU` of `kind`; did you mean "
       "`KIND_GPU`?"},
      {"name: \"a\"\nname: \"b\"",
       "config.pbtxt:2:1: `name` is given more than once"},
      {"dynamic_batching {} sequence_batching {}",
       "config.pbtxt:1:21: only one of `sequence_batching` and "
       "`dynamic_batching` may be given"},
      {"max_batch_size: 99999999999",
       "config.pbtxt:1:17: the number (99999999999) is too large for its "
       "field"},
      {"max_batch_size: \"8\"", "config.pbtxt:1:17: expected integer, got `8`"},
      {"name: m", "config.pbtxt:1:7: expected string, got `m`"},
      {"model_transaction_policy { decoupled: maybe\n}",
       "config.pbtxt:1:39: `decoupled` must be `true` or `false`, got "
       "`maybe`"},
      {"input {", "but the text ends"},
      {"name: \"a\nb\"",
       "config.pbtxt:1:9: a text must end on its line; a quote is missing"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_NE(textFailure(text).find(message), std::string::npos)
        << text << "\n"
        << textFailure(text);
}

TEST(ConfigText, AllUnknownFieldsAreReported) {
  const std::string message =
      textFailure("a: 1\nname: \"m\"\nb { c: [1, 2] }\n");
  EXPECT_NE(message.find("config.pbtxt:1:1: unknown field `a`"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("config.pbtxt:3:1: unknown field `b`"),
            std::string::npos)
      << message;
}

TEST(ConfigText, DeepNestingIsRefusedAlsoInUnknownFields) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += "x {";
  EXPECT_EQ(textFailure(text),
            "config.pbtxt:1:153: messages are nested deeper than 50 levels");
  EXPECT_EQ(textFailure("name: \"{{{{\" # {{{{\n"), "");
}

TEST(ConfigText, PlacesAreThoseOfFieldsOrOfTheMessageWithoutThem) {
  const auto read = parseConfigText("backend: \"b\"\n"
                                    "input [\n"
                                    "  { name: \"a\"\n"
                                    "    dims: [1] },\n"
                                    "  { name: \"b\" }\n"
                                    "]\n"
                                    "output { name: \"c\" }\n"
                                    "output { name: \"d\" }\n",
                                    "f");
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->placeOf("backend"), "f:1:1");
  EXPECT_EQ(read->placeOf(FieldPath("input")[0] / "dims"), "f:4:5");
  EXPECT_EQ(read->placeOf(FieldPath("input")[1] / "dims"), "f:5:5");
  EXPECT_EQ(read->placeOf(FieldPath("output")[1]), "f:8:10");
  EXPECT_EQ(read->placeOf("platform"), "f");
  EXPECT_EQ((FieldPath("input")[1] / "dims").text(), "input[1].dims");
}

TEST(TemplateVariables, FieldsAndElementsAreBlankedOut) {
  const struct {
    const char* text;
    const char* made;
  } cases[] = {
      {"max_batch_size: ${n}\nname: \"m\"",
       "                    \nname: \"m\""},
      {"q { max_queue_size: ${n} }", "q {                      }"},
      {"dims: [ ${n} ]", "dims: [      ]"},
      {"dims: [${n}, 4]", "dims: [      4]"},
      {"dims: [4, ${n}]", "dims: [4      ]"},
      {"dims: [4, ${n}, 5]", "dims: [4      , 5]"},
      {"name: \"${n}\" # ${n}", "name: \"${n}\" # ${n}"},
      {"data_type: ${logits_datatype}", "data_type: TYPE_FP32"},
      {"data_type: ${prompt_embedding_table_data_type}",
       "data_type: TYPE_FP16"},
      // No variables.
      {"count: 1${n}", "count: 1${n}"},
      {"count: ${n}1", "count: ${n}1"},
      {"count: ${", "count: ${"},
      {"count: ${}", "count: ${}"},
  };
  for (const auto& [text, made] : cases)
    EXPECT_EQ(withoutVariables(text).text, made) << text;
}

TEST(TemplateVariables, AreUnsetInTextsAndParameters) {
  const auto read = parseConfigText(
      "backend: \"${triton_backend}\"\n"
      "max_batch_size: ${triton_max_batch_size}\n"
      "instance_group { count: ${count} profile: [\"a\", \"${p}\", \"c\"] }\n"
      "parameters { key: \"a\" value { string_value: \"${a}\" } }\n"
      "parameters { key: \"b\" value { string_value: \"$b {c}\" } }\n",
      "f");
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->config->backend(), "");
  EXPECT_EQ(read->config->max_batch_size(), 0);
  ASSERT_EQ(read->config->instance_group_size(), 1);
  ASSERT_EQ(read->config->instance_group(0).profile_size(), 2);
  EXPECT_EQ(read->config->instance_group(0).profile(1), "c");
  EXPECT_FALSE(read->config->parameters().contains("a"));
  EXPECT_EQ(read->config->parameters().at("b").string_value(), "$b {c}");
  ASSERT_EQ(read->warnings.size(), 1u);
  EXPECT_EQ(read->warnings[0],
            "f: template variables that are not filled in count as unset: "
            "`${a}`, `${count}`, `${p}`, `${triton_backend}`, "
            "`${triton_max_batch_size}`");
}

} // namespace
} // namespace reciperun::server
