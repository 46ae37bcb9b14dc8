// libFuzzer target: structured output.
//
// The first byte says what the rest is: `s` a JSON schema, `r` a regular
// expression, `g` a GBNF grammar. A refusal has a reason. What compiles is
// walked through its masks: every token of a mask is accepted, no other one is,
// and a complete answer to a schema is JSON.

#include "test/fuzz/Require.h"
#include "test/runtime/grammar/Walk.h"

#include <nlohmann/json.hpp>

using namespace reciperun;
using namespace reciperun::grammar;
using recipec::fuzz::require;

namespace {

constexpr int longestWalk = 24;
constexpr size_t longestText = 4096;

/// Chooses tokens by the bytes of the input, in place of random numbers.
class Choices {
public:
  explicit Choices(std::string_view input) : input(input) {}
  size_t below(size_t limit) {
    state = state * 31 + uint8_t(input[at++ % input.size()]);
    return state % limit;
  }

private:
  std::string_view input;
  size_t at = 0;
  size_t state = 1;
};

void requireMask(const Matcher& matcher, const Vocabulary& tokens,
                 const std::vector<uint32_t>& mask, Choices& choices) {
  // All tokens would take most of the time.
  for (int i = 0; i < 8; ++i) {
    const int32_t id = int32_t(choices.below(tokens.size()));
    const bool isAllowed = mask[size_t(id) / 32] >> (id % 32) & 1;
    Matcher copy = matcher;
    const bool isAccepted = !tokens.bytesOf(id).empty() &&
                            copy.acceptBytes(tokens.bytesOf(id)).isOk();
    require(isAllowed == isAccepted, "a mask has the tokens that go on");
  }
}

void walk(const Compiled& made, std::string_view input, bool isSchema) {
  static const auto tokens =
      std::make_shared<const Vocabulary>(smallVocabulary());
  MaskTable table(made.automaton, tokens);
  Matcher matcher(made.automaton);
  Choices choices(input);
  std::vector<uint32_t> mask(tokens->words());
  std::string text;
  for (int step = 0; step < longestWalk; ++step) {
    if (!table.fill(matcher, mask).isOk())
      return; // too ambiguous
    requireMask(matcher, *tokens, mask, choices);
    const std::vector<int32_t> ids = allowedIds(mask);
    require(!ids.empty() == matcher.canGoOn(), "every state can go on");
    if (ids.empty())
      break;
    const int32_t id = ids[choices.below(ids.size())];
    require(matcher.acceptBytes(tokens->bytesOf(id)).isOk(),
            "an allowed token is accepted");
    text += tokens->bytesOf(id);
    if (isSchema && matcher.isComplete())
      require(nlohmann::json::accept(text), "an answer to a schema is JSON");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > longestText)
    return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(1);
  const char kind = input[0];
  const Compiled made = kind == 's'   ? schema(text)
                        : kind == 'r' ? regex(text)
                                      : gbnf(text);
  if (!made.automaton) {
    require(!made.refusal.empty(), "a refusal has a reason");
    return 0;
  }
  walk(made, input, kind == 's');
  return 0;
}
