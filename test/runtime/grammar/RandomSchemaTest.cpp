// Random schemas, and random walks through their masks: whatever the masks
// allow is JSON that the schema accepts, by a validator that shares no code
// with the grammar.

#include "test/runtime/grammar/SmallValidator.h"
#include "test/runtime/grammar/Walk.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reciperun::grammar {
namespace {

using Schema = nlohmann::ordered_json;

class RandomSchema {
public:
  explicit RandomSchema(unsigned seed) : random(seed) {}

  Schema document() {
    Schema made = schema(3);
    made["$defs"] = Schema::parse(R"({"tree": {"type": "object",
        "properties": {"children": {"type": "array",
                       "items": {"$ref": "#/$defs/tree"}}},
        "required": ["leaf"]}})");
    made["$defs"]["tree"]["properties"]["leaf"] = scalar();
    made["$defs"]["shared"] = listed("anyOf", {scalar(), scalar()});
    return made;
  }

private:
  size_t below(size_t limit) { return random() % limit; }
  bool maybe() { return below(2) == 0; }

  Schema scalar() {
    switch (below(7)) {
    case 0:
      return string();
    case 1:
      return {{"type", "string"}, {"pattern", pattern()}};
    case 2:
      return {{"type", "string"}, {"format", format()}};
    case 3:
      return number("integer");
    case 4:
      return number("number");
    case 5:
      return Schema::parse(R"({"enum": ["a", "é\"", 1, -2.5, null, true]})");
    default:
      return Schema::parse(R"({"type": ["boolean", "null"]})");
    }
  }

  Schema schema(int depth) {
    if (depth == 0)
      return scalar();
    switch (below(9)) {
    case 0:
      return object(depth);
    case 1:
      return object(depth);
    case 2:
      return array(depth);
    case 3:
      return listed("anyOf", {schema(depth - 1), schema(depth - 1)});
    case 4:
      return listed("oneOf", {number("integer"), string(), object(depth)});
    case 5:
      return listed("allOf", {object(depth), object(depth)});
    case 6:
      return reference(maybe() ? "tree" : "shared");
    case 7:
      return tuple(depth);
    default:
      return scalar();
    }
  }

  // nlohmann's initializer lists take two texts alone for a pair of iterators.
  static Schema typed(const char* type) {
    Schema made = Schema::object();
    made["type"] = type;
    return made;
  }
  static Schema reference(const std::string& name) {
    Schema made = Schema::object();
    made["$ref"] = "#/$defs/" + name;
    return made;
  }
  static Schema listed(const char* keyword, std::vector<Schema> schemas) {
    Schema made = Schema::object();
    made[keyword] = std::move(schemas);
    return made;
  }

  Schema string() {
    Schema made = typed("string");
    const size_t least = below(4);
    if (maybe())
      made["minLength"] = least;
    if (maybe())
      made["maxLength"] = least + below(4);
    return made;
  }

  std::string pattern() {
    static const char* const all[] = {"^[a-z]{2,5}$", "[0-9]", "^a|b$",
                                      "^(x[\"\\\\]|yy)*$", "^\\w+-\\d{3}$"};
    return all[below(5)];
  }

  std::string format() {
    static const char* const all[] = {"date", "time", "date-time", "uuid",
                                      "ipv4"};
    return all[below(5)];
  }

  Schema number(const char* type) {
    Schema made = typed(type);
    const double low = double(int(below(400)) - 200) / (maybe() ? 1 : 8);
    if (maybe())
      made[maybe() ? "minimum" : "exclusiveMinimum"] = low;
    if (maybe())
      made[maybe() ? "maximum" : "exclusiveMaximum"] =
          low + 2 + double(below(3000)) / (maybe() ? 1 : 16);
    return made;
  }

  Schema object(int depth) {
    static const char* const names[] = {"a", "ab", "name", "id", "é", "x\"y"};
    Schema made = {{"type", "object"}, {"properties", Schema::object()}};
    for (size_t i = below(4); i > 0; --i)
      made["properties"][names[below(6)]] = schema(depth - 1);
    std::vector<std::string> required;
    for (const auto& [name, value] : made["properties"].items())
      if (maybe())
        required.push_back(name);
    if (!required.empty())
      made["required"] = required;
    if (below(3) == 0)
      made["additionalProperties"] =
          maybe() ? Schema(false) : schema(depth - 1);
    return made;
  }

  Schema array(int depth) {
    Schema made = {{"type", "array"}, {"items", schema(depth - 1)}};
    const size_t least = below(3);
    if (maybe())
      made["minItems"] = least;
    if (maybe())
      made["maxItems"] = least + below(3);
    return made;
  }

  Schema tuple(int depth) {
    Schema made = listed("prefixItems", {schema(depth - 1), scalar()});
    made["type"] = "array";
    made["minItems"] = below(3);
    if (maybe())
      made["items"] = maybe() ? Schema(false) : scalar();
    return made;
  }

  std::mt19937 random;
};

/// The mask by trying every token.
std::vector<int32_t> triedIds(const Compiled& made, const Vocabulary& tokens,
                              const std::string& text) {
  Matcher before(made.automaton);
  EXPECT_TRUE(before.acceptBytes(text).isOk());
  std::vector<int32_t> ids;
  for (size_t id = 0; id < tokens.size(); ++id) {
    Matcher matcher = before;
    const std::string_view bytes = tokens.bytesOf(int32_t(id));
    if (!bytes.empty() && matcher.acceptBytes(bytes).isOk())
      ids.push_back(int32_t(id));
  }
  return ids;
}

/// A token that brings a long text to its end.
int32_t closing(const std::vector<int32_t>& ids, const Vocabulary& tokens,
                std::mt19937& random) {
  // Other tokens at times: a pattern may not end before it has one of them.
  if (random() % 2 == 0)
    for (const char* each : {"\"", "}", "]", "null", "0", "b"})
      for (const int32_t id : ids)
        if (tokens.bytesOf(id) == each)
          return id;
  return ids[random() % ids.size()];
}

TEST(RandomSchema, WalksWriteValidJson) {
  constexpr int schemas = 1000, longWalk = 120, longestWalk = 4000;
  const auto tokens = std::make_shared<const Vocabulary>(smallVocabulary());
  std::vector<uint32_t> mask(tokens->words());
  int refused = 0;
  for (int seed = 0; seed < schemas; ++seed) {
    const Schema document = RandomSchema(unsigned(seed)).document();
    const Compiled made = schema(document.dump());
    if (!made.automaton) {
      // Members of both objects of an `allOf` may contradict each other.
      EXPECT_TRUE(made.refusal.find("nothing matches") != std::string::npos)
          << made.refusal << "\n"
          << document;
      ++refused;
      continue;
    }
    MaskTable table(made.automaton, tokens);
    Matcher matcher(made.automaton);
    std::mt19937 random{unsigned(seed)};
    std::string text;
    for (int step = 0; step < longestWalk; ++step) {
      if (matcher.isComplete() && (step > longWalk || random() % 3 == 0))
        break;
      ASSERT_TRUE(table.fill(matcher, mask).isOk());
      const std::vector<int32_t> ids = allowedIds(mask);
      if (seed % 8 == 0 && step < 40) {
        ASSERT_EQ(ids, triedIds(made, *tokens, text)) << document << "\n"
                                                      << text;
      }
      if (ids.empty())
        break;
      const int32_t id = step > longWalk ? closing(ids, *tokens, random)
                                         : ids[random() % ids.size()];
      ASSERT_TRUE(matcher.acceptBytes(tokens->bytesOf(id)).isOk());
      text += tokens->bytesOf(id);
    }
    ASSERT_TRUE(matcher.isComplete()) << document << "\n" << text;
    const nlohmann::json value =
        nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(value.is_discarded()) << document << "\n" << text;
    ASSERT_EQ(SmallValidator(document).violation(value), "") << document << "\n"
                                                             << text;
  }
  EXPECT_LT(refused, schemas / 10);
}

} // namespace
} // namespace reciperun::grammar
