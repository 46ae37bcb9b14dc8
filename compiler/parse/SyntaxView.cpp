// Items and braces around a syntax error: see SyntaxView.h.

#include "compiler/parse/SyntaxView.h"

namespace recipec::parse {

size_t SyntaxView::lastOfItem(size_t token) const {
  const int depth = list.tokens[token].depth;
  size_t last = token;
  while (type(last + 1) != TokenType::EOF &&
         !(isEndOfItem(last + 1) && list.tokens[last + 1].depth <= depth))
    ++last;
  return last;
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
    if (type(head) != TokenType::FOR && type(head) != TokenType::IF &&
        type(head) != TokenType::ELSE)
      return head;
  }
  return std::nullopt;
}

} // namespace recipec::parse
