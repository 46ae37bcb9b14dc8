// The tokens of a model as bytes, in the order that a mask is computed in.

#ifndef RECIPERUN_GRAMMAR_VOCABULARY_H
#define RECIPERUN_GRAMMAR_VOCABULARY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::grammar {

class Vocabulary {
public:
  /// The bytes of each id. An id without bytes, such as that of a control
  /// token, is never in a mask.
  explicit Vocabulary(std::vector<std::string> tokens);

  /// The number of ids.
  size_t size() const { return tokens.size(); }
  std::string_view bytesOf(int32_t id) const { return tokens[size_t(id)]; }
  /// The ids with bytes, sorted by their bytes.
  const std::vector<int32_t>& sorted() const { return order; }
  /// The number of leading bytes that the token at a position of sorted()
  /// shares with the token before it.
  size_t sharedBytes(size_t position) const { return shared[position]; }
  /// Bytes of the longest token.
  size_t longest() const { return longestToken; }
  /// 32-bit words of a mask.
  size_t words() const { return (tokens.size() + 31) / 32; }

private:
  std::vector<std::string> tokens;
  std::vector<int32_t> order;
  std::vector<uint32_t> shared;
  size_t longestToken = 0;
};

} // namespace reciperun::grammar

#endif // RECIPERUN_GRAMMAR_VOCABULARY_H
