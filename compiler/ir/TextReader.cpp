// Reads characters and words; see TextReader.h.

#include "compiler/ir/TextReader.h"

#include <cctype>

namespace recipec::ir {

static bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

void TextReader::fail(std::string expected) {
  if (!ok())
    return;
  int line = 1;
  for (char c : text.substr(0, place))
    line += c == '\n';
  std::string_view rest = text.substr(place);
  failure = "line " + std::to_string(line) + ": expected " + expected +
            ", found `" + std::string(rest.substr(0, rest.find('\n'))) + "`";
  place = text.size();
}

void TextReader::skipSpace() {
  while (place < text.size() &&
         std::isspace(static_cast<unsigned char>(text[place])))
    ++place;
}

bool TextReader::atEnd() {
  skipSpace();
  return place == text.size();
}

char TextReader::peek() {
  skipSpace();
  return place < text.size() ? text[place] : '\0';
}

bool TextReader::take(char c) {
  if (peek() != c)
    return false;
  ++place;
  return true;
}

void TextReader::expect(char c) {
  if (!take(c))
    fail("`" + std::string(1, c) + "`");
}

std::string_view TextReader::peekWord() {
  skipSpace();
  size_t end = place;
  while (end < text.size() && isNameCharacter(text[end]))
    ++end;
  return text.substr(place, end - place);
}

bool TextReader::takeWord(std::string_view word) {
  if (peekWord() != word)
    return false;
  place += word.size();
  return true;
}

void TextReader::expectWord(std::string_view word) {
  if (!takeWord(word))
    fail("`" + std::string(word) + "`");
}

std::string TextReader::word() {
  std::string_view found = peekWord();
  if (found.empty())
    fail("a name");
  place += found.size();
  return std::string(found);
}

std::string TextReader::name() {
  return peek() == '"' ? quoted() : word();
}

std::string TextReader::quoted() {
  std::string result;
  expect('"');
  while (ok() && place < text.size() && text[place] != '"') {
    char c = text[place++];
    if (c != '\\') {
      result += c;
      continue;
    }
    if (place >= text.size())
      break;
    c = text[place++];
    if (c == 'x' && place + 2 <= text.size()) {
      unsigned code = 0;
      std::from_chars(&text[place], &text[place] + 2, code, 16);
      place += 2;
      c = char(code);
    }
    result += c;
  }
  if (place >= text.size() || text[place] != '"')
    fail("the end of a string");
  else
    ++place;
  return result;
}

std::string_view TextReader::numberText() {
  skipSpace();
  size_t end = place;
  while (end < text.size() &&
         (isNameCharacter(text[end]) || text[end] == '-' || text[end] == '+'))
    ++end;
  return text.substr(place, end - place);
}

} // namespace recipec::ir
