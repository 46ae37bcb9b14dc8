// Items and braces around a syntax error: see SyntaxView.h.

#include "compiler/parse/SyntaxView.h"

#include <algorithm>

namespace recipec::parse {

size_t SyntaxView::lastOfItem(size_t token) const {
  const int depth = list.tokens[token].depth;
  size_t last = token;
  while (type(last + 1) != TokenType::EOF &&
         !(isEndOfItem(last + 1) && list.tokens[last + 1].depth <= depth))
    ++last;
  return last;
}

size_t SyntaxView::firstOfItem() const {
  size_t first = std::min(error.token, list.tokens.size() - 1);
  const int depth = list.tokens[first].depth;
  auto isBefore = [&](size_t token) {
    const bool isOpen =
        type(token) == TokenType::OPEN || type(token) == TokenType::BLOCK_OPEN;
    return (isOpen && list.tokens[token].depth < depth) ||
           (type(token) == TokenType::SEPARATOR &&
            list.tokens[token].depth <= depth);
  };
  while (first > 0 && !isBefore(first - 1))
    --first;
  return first;
}

std::optional<size_t> SyntaxView::headOfBraces() const {
  int depth = 0;
  for (size_t i = error.begin; i > 0; --i) {
    size_t brace = type(i - 1);
    if (brace == TokenType::CLOSE)
      ++depth;
    if (brace != TokenType::OPEN && brace != TokenType::BLOCK_OPEN)
      continue;
    if (depth-- > 0)
      continue;
    depth = 0;
    size_t head = i - 1;
    while (head > 0 && type(head - 1) != TokenType::SEPARATOR &&
           type(head - 1) != TokenType::OPEN &&
           type(head - 1) != TokenType::BLOCK_OPEN &&
           type(head - 1) != TokenType::CLOSE)
      --head;
    // `model = llama.llama { ... }` sets a field.
    const bool isSetting = type(head + 1) == TokenType::ASSIGN ||
                           type(head + 1) == TokenType::OPEN ||
                           type(head + 1) == TokenType::DOT;
    if (isSetting && type(head) != TokenType::ELSE)
      return std::nullopt;
    if (type(head) != TokenType::FOR && type(head) != TokenType::IF &&
        type(head) != TokenType::ELSE)
      return head;
  }
  return std::nullopt;
}

} // namespace recipec::parse
