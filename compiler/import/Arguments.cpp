// See Arguments.h.

#include "compiler/import/Arguments.h"

#include <cctype>

namespace recipec::importer {
namespace {

/// Whether a word begins an option: `-tp`, `--num_gpus`; not `-1` or `-`.
bool isOption(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         !std::isdigit(static_cast<unsigned char>(word[1])) && word[1] != '.';
}

Entry optionOf(const Word& word) {
  const size_t equals = word.text.find('=');
  Entry entry{word.text.substr(0, equals), {}, false, word.range};
  if (equals != word.text.npos)
    entry.values.push_back(word.text.substr(equals + 1));
  return entry;
}

} // namespace

CommandLine readArguments(const std::vector<Word>& words) {
  CommandLine command;
  for (const Word& word : words) {
    if (word.text == "-m" && command.options.empty())
      continue;
    if (isOption(word.text))
      command.options.push_back(optionOf(word));
    else if (command.options.empty())
      command.program.push_back(word);
    else {
      Entry& option = command.options.back();
      option.values.push_back(word.text);
      option.range = cover(option.range, word.range);
    }
  }
  for (Entry& option : command.options) {
    option.isList = option.values.size() > 1;
    if (option.values.empty())
      option.values.push_back("true");
  }
  return command;
}

} // namespace recipec::importer
