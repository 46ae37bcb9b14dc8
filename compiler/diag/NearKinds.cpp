// Kinds of diagnostics that a guessed name may mean: `OutOfMemory` for `OOM`.
//
// 1. The kinds whose words begin with the letters of the name.
// 2. Else those that share a word with it: `shape` and `ShapeMismatch`.
// 3. Else those whose explanation has one of its words.

#include "compiler/diag/Diagnostic.h"

#include <algorithm>
#include <cctype>

namespace recipec::diag {
namespace {

/// Shorter words of a name say too little.
constexpr size_t leastLetters = 4;

/// The words of `OutOfMemory` or `out of memory`, in small letters.
std::vector<std::string> wordsOf(std::string_view name) {
  std::vector<std::string> words;
  bool isOpen = false, wasUpper = false;
  for (const char letter : name) {
    const auto c = static_cast<unsigned char>(letter);
    const bool isUpper = std::isupper(c) != 0;
    if (!std::isalnum(c)) {
      isOpen = false;
      continue;
    }
    if (!isOpen || (isUpper && !wasUpper))
      words.emplace_back();
    words.back() += char(std::tolower(c));
    isOpen = true;
    wasUpper = isUpper;
  }
  return words;
}

std::string initialsOf(const std::vector<std::string>& words) {
  std::string letters;
  for (const std::string& word : words)
    letters += word[0];
  return letters;
}

bool sharesWord(const std::vector<std::string>& left,
                const std::vector<std::string>& right) {
  return std::any_of(left.begin(), left.end(), [&](const std::string& word) {
    return word.size() >= leastLetters &&
           std::find(right.begin(), right.end(), word) != right.end();
  });
}

template <class Test> std::vector<std::string> kindsWith(Test test) {
  std::vector<std::string> found;
  for (std::string& name : kindNames())
    if (test(name))
      found.push_back(std::move(name));
  return found;
}

} // namespace

std::vector<std::string> nearKinds(std::string_view name) {
  const std::vector<std::string> words = wordsOf(name);
  if (words.size() == 1)
    if (auto found = kindsWith([&](const std::string& kind) {
          return initialsOf(wordsOf(kind)) == words[0];
        });
        !found.empty())
      return found;
  if (auto found = kindsWith([&](const std::string& kind) {
        return sharesWord(words, wordsOf(kind));
      });
      !found.empty())
    return found;
  return kindsWith([&](const std::string& kind) {
    return sharesWord(words, wordsOf(explanation(*findKind(kind))));
  });
}

} // namespace recipec::diag
