// See BrokenNames.h.

#include "compiler/parse/BrokenNames.h"

#include <algorithm>
#include <cctype>

namespace recipec::parse {
namespace {

bool isNumber(size_t type) {
  return type == TokenType::INTEGER || type == TokenType::FLOAT;
}

bool isSign(size_t type) {
  return type == TokenType::MINUS || type == TokenType::DOT;
}

bool isPart(size_t type) {
  return isName(type) || isNumber(type) || isSign(type);
}

} // namespace

std::optional<BrokenName> brokenNameAt(const SourceMap& sources,
                                       const TokenList& list, size_t token,
                                       bool keepsDots) {
  const std::vector<Token>& tokens = list.tokens;
  auto isJoined = [&](size_t left) {
    return left + 1 < tokens.size() && isPart(tokens[left].type) &&
           isPart(tokens[left + 1].type) &&
           tokens[left].end == tokens[left + 1].begin;
  };
  size_t first = token, last = token;
  while (first > 0 && isJoined(first - 1))
    --first;
  while (isJoined(last))
    ++last;
  while (first < last && isSign(tokens[first].type))
    ++first;
  while (last > first && isSign(tokens[last].type))
    --last;
  std::string own;
  for (size_t i = first; i <= last; ++i) {
    const bool divides = tokens[i].type == TokenType::DOT && keepsDots &&
                         isName(tokens[i + 1].type);
    for (char c : sources.text(list.range(i)))
      own += divides || std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  const SourceRange range = cover(list.range(first), list.range(last));
  const bool hasLetter = std::any_of(
      own.begin(), own.end(), [](unsigned char c) { return std::isalpha(c); });
  if (std::isdigit(static_cast<unsigned char>(own[0])))
    own.insert(0, "_");
  if (!hasLetter || own == sources.text(range))
    return std::nullopt;
  return BrokenName{range, std::move(own)};
}

} // namespace recipec::parse
