// Manifests round-trip through JSON; damaged ones are refused.

#include "runtime/checkpoint/Manifest.h"

#include "runtime/checkpoint/RankFile.h"

#include "StatePlan.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace reciperun::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

Manifest sample() {
  Manifest manifest = describeRun(statePlan({1, 2, 2}), "0123456789abcdef");
  manifest.recipe = "sample";
  manifest.serial = 3;
  manifest.settings = {{"data.sequence", "64"}, {"data.pack", "true"}};
  manifest.files[0].header = "0123";
  manifest.position = {500, 16000, 32, 15990, 1.25, -7, 11, 12800};
  manifest.validLoss = 0.1;
  manifest.model.config = R"({"hidden_size": 6})";
  return manifest;
}

TEST(Manifest, SurvivesBeingWrittenAndRead) {
  std::string text = toJson(sample());
  auto manifest = parseManifest(text);
  ASSERT_TRUE(manifest) << manifest.message();
  EXPECT_EQ(toJson(*manifest), text);
  EXPECT_EQ(manifest->position.rows, 16000);
  EXPECT_EQ(manifest->position.dataSeed, -7);
  EXPECT_EQ(manifest->validLoss, 0.1);
  EXPECT_TRUE(manifest->hasMoments());
  EXPECT_EQ(manifest->parameters.size(), 4u);
}

TEST(Manifest, KnowsTheLayoutThatWroteIt) {
  auto manifest = parseManifest(toJson(sample()));
  ASSERT_TRUE(manifest) << manifest.message();
  EXPECT_TRUE(manifest->wasWrittenBy(statePlan({1, 2, 2}).mesh));
  EXPECT_FALSE(manifest->wasWrittenBy(statePlan({1, 4, 1}).mesh));
  manifest->mesh.clear(); // converted checkpoints have no mesh
  EXPECT_FALSE(manifest->wasWrittenBy(statePlan({1, 2, 2}).mesh));
}

TEST(Manifest, RefusesEveryCutText) {
  std::string text = toJson(sample());
  for (size_t end = 0; end + 2 < text.size(); ++end)
    ASSERT_FALSE(parseManifest(text.substr(0, end))) << end;
}

/// A manifest that lacks any one field is damaged, and the message names the
/// field.
void removeEach(const Json& whole, Json& node) {
  if (!node.is_structured())
    return;
  if (node.is_array() && !node.empty())
    return removeEach(whole, node[0]);
  for (const std::string& key : [&] {
         std::vector<std::string> keys;
         for (const auto& [key, value] : node.items())
           keys.push_back(key);
         return keys;
       }()) {
    Json kept = node[key];
    removeEach(whole, node[key]);
    kept = node[key];
    node.erase(key);
    auto manifest = parseManifest(whole.dump());
    EXPECT_EQ(bool(manifest), key == "checksum") << key;
    const std::set<std::string> optional = {"checksum", "valid_loss", "mesh",
                                            "run",      "settings",   "header"};
    if (!optional.contains(key)) {
      EXPECT_NE(manifest.message().find(key), std::string::npos)
          << manifest.message();
    }
    node[key] = kept;
  }
}

TEST(Manifest, NamesTheFieldThatIsMissing) {
  Json whole = Json::parse(toJson(sample()));
  removeEach(whole, whole);
}

TEST(Manifest, RefusesAnyOtherValue) {
  Json json = Json::parse(toJson(sample()));
  json["position"]["rows"] = 16001;
  auto manifest = parseManifest(json.dump());
  ASSERT_FALSE(manifest);
  EXPECT_EQ(manifest.message(), "the manifest is damaged: it is not the one "
                                "that was written (checksum)");
  // Whitespace does not change the checksum.
  EXPECT_TRUE(parseManifest(Json::parse(toJson(sample())).dump(2)));
  // Older manifests have no checksum.
  json.erase("checksum");
  EXPECT_TRUE(parseManifest(json.dump()));
}

struct Damage {
  const char* pointer;
  Json value;
  const char* message;
};

TEST(Manifest, RefusesNumbersThatCannotBe) {
  const Damage damages[] = {
      {"/format", "zip", "`format` is not `recipec checkpoint`"},
      {"/version", 2, "is of version 2"},
      {"/position/step", -1, "`position.step` is no integer from 0 on"},
      {"/position/rows", 1.5, "`position.rows` is no integer"},
      {"/position/rows", 1ull << 63, "`position.rows` is no integer"},
      {"/position/epoch", "x", "`position.epoch` is no number"},
      {"/model/compute", "F8", "is no known type"},
      {"/files/0/name", "../x", "is not a file name of its own"},
      {"/files/1/name", "rank-00000.safetensors", "file name of its own"},
      {"/parameters/1/name", "embed", "repeats `embed`"},
      {"/parameters/0/shape/0", 0, "no integer from 1 on"},
      {"/parameters/0/shape/0", INT64_MAX / 2, "more than 2^63 bytes"},
      {"/parameters/0/pieces/0/kind", "v", "is of no known kind, `v`"},
      {"/parameters/0/pieces/0/dtype", "I8", "has dtype `I8`"},
      {"/parameters/0/pieces/0/file", 9, "is in file 9 of 4"},
      {"/parameters/0/pieces/0/block/0", Json::array({1, 8}),
       "leaves the tensor"},
      {"/parameters/0/pieces/0/block/0", Json::array({1}), "is no pair"},
      {"/parameters/0/pieces/0/block", Json::array(), "another rank than"},
      {"/parameters/0/pieces/0/range", Json::array({0, 1000}),
       "leaves its block"},
      {"/parameters/0/pieces/0/range", Json::array({INT64_MAX, 1}),
       "leaves its block"},
      {"/parameters/0/pieces/0/range", Json::array({0, 0}), "leaves its block"},
      {"/parameters/0/lora",
       {{"a", 77}, {"b", 1}, {"scale", 1.0}},
       "names no such adapter"},
      {"/parameters/0/lora",
       {{"a", 1}, {"b", 2}, {"scale", 1.0}},
       "is not of its adapter's shape"},
  };
  for (const Damage& damage : damages) {
    Json json = Json::parse(toJson(sample()));
    json[Json::json_pointer(damage.pointer)] = damage.value;
    auto manifest = parseManifest(json.dump());
    ASSERT_FALSE(manifest) << damage.pointer;
    EXPECT_NE(manifest.message().find(damage.message), std::string::npos)
        << manifest.message();
  }
}

} // namespace
} // namespace reciperun::checkpoint
