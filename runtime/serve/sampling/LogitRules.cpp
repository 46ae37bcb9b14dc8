// One function for each rule, called in the order that the header states.

#include "runtime/serve/sampling/LogitRules.h"

#include <algorithm>
#include <limits>

namespace reciperun::serve {
namespace {

constexpr float banned = -std::numeric_limits<float>::infinity();

} // namespace

LogitRules::LogitRules(const SamplingOptions& options, int64_t vocab,
                       std::span<const int32_t> prompt,
                       const std::set<int32_t>& endTokens)
    : repetitionPenalty(options.repetitionPenalty),
      presencePenalty(options.presencePenalty),
      frequencyPenalty(options.frequencyPenalty), logitBias(options.logitBias),
      badWords(options.badWords), minTokens(options.minTokens), vocab(vocab),
      endings(endTokens) {
  endings.insert(options.stopTokens.begin(), options.stopTokens.end());
  if (repetitionPenalty != 1)
    for (int32_t id : prompt)
      if (id >= 0 && id < vocab)
        seenToken(id);
}

bool LogitRules::hasPenalties() const {
  return repetitionPenalty != 1 || presencePenalty != 0 ||
         frequencyPenalty != 0;
}

bool LogitRules::areActive() const {
  return answerTokens() < minTokens || !badWords.empty() ||
         !logitBias.empty() || hasPenalties();
}

Status LogitRules::apply(std::span<float> logits, TokenConstraint* constraint) {
  if (constraint)
    RECIPERUN_TRY(allowOnly(logits, *constraint));
  if (answerTokens() < minTokens)
    for (int32_t id : endings)
      if (id >= 0 && id < vocab)
        logits[size_t(id)] = banned;
  banBadWords(logits);
  for (const auto& [id, value] : logitBias)
    logits[size_t(id)] += value;
  if (hasPenalties())
    penalize(logits);
  return Status::ok();
}

void LogitRules::append(int32_t id) {
  answer.push_back(id);
  if (hasPenalties())
    ++seenToken(id).inAnswer;
}

Status LogitRules::allowOnly(std::span<float> logits,
                             TokenConstraint& constraint) {
  allowed.resize((logits.size() + 31) / 32);
  RECIPERUN_TRY(constraint.fillMask(allowed));
  for (size_t word = 0; word < allowed.size(); ++word) {
    const uint32_t bits = allowed[word];
    if (bits == ~uint32_t(0))
      continue;
    float* first = logits.data() + 32 * word;
    const size_t count = std::min<size_t>(32, logits.size() - 32 * word);
#pragma omp simd
    for (size_t bit = 0; bit < count; ++bit)
      first[bit] = (bits >> bit) & 1 ? first[bit] : banned;
  }
  return Status::ok();
}

/// Bans the last token of each bad word whose other tokens end the answer.
void LogitRules::banBadWords(std::span<float> logits) const {
  for (const std::vector<int32_t>& word : badWords) {
    const size_t before = word.size() - 1;
    if (before <= answer.size() && std::equal(word.begin(), word.end() - 1,
                                              answer.end() - int64_t(before)))
      logits[size_t(word.back())] = banned;
  }
}

/// Repetition: N. Keskar et al., "CTRL" (2019), equation 2, with the sign of
/// the logit considered. Frequency and presence: OpenAI's API reference.
void LogitRules::penalize(std::span<float> logits) const {
  for (const SeenToken& token : seen) {
    float& logit = logits[size_t(token.id)];
    const double repeated =
        logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    const double presence = token.inAnswer > 0 ? presencePenalty : 0;
    logit =
        float(repeated - frequencyPenalty * double(token.inAnswer) - presence);
  }
}

LogitRules::SeenToken& LogitRules::seenToken(int32_t id) {
  const auto [entry, isNew] = seenIndex.try_emplace(id, seen.size());
  if (isNew)
    seen.push_back({id, 0});
  return seen[entry->second];
}

std::string LogitRules::describeBans(bool hasConstraint) const {
  std::vector<std::string> rules;
  if (hasConstraint) {
    int64_t count = 0;
    for (int64_t id = 0; id < vocab; ++id)
      count += allowed[size_t(id / 32)] >> (id % 32) & 1;
    rules.push_back("the constraint, which allows " + std::to_string(count) +
                    (count == 1 ? " token" : " tokens"));
  }
  if (answerTokens() < minTokens)
    rules.push_back("`min_tokens` = " + std::to_string(minTokens));
  if (!badWords.empty())
    rules.push_back("`bad_words`");
  if (rules.empty())
    return "the model, whose logits are all -inf";
  std::string text = rules[0];
  for (size_t i = 1; i < rules.size(); ++i)
    text += (i + 1 == rules.size() ? " and " : ", ") + rules[i];
  return text;
}

} // namespace reciperun::serve
