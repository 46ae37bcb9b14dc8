// Reads the `##` comments of declarations; see Comments.h.

#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

constexpr std::string_view beginning = "Also known as ";
constexpr std::string_view valuesBeginning = "Values of other tools: ";
constexpr std::string_view absentArgument = "No argument for ";
constexpr std::string_view argumentsBeginning = "Arguments of other tools: ";
constexpr std::string_view conjunction = " or "; // of names with one remark
constexpr std::string_view absentBeginning = "No field for ";
constexpr std::string_view absentValue = "No value for ";
constexpr std::string_view severalBeginning = "Several ";

/// The list of names at the end of a comment, on one line.
std::string listOf(const ast::Comments& comments) {
  std::string list;
  bool isInList = false;
  for (const std::string& line : comments.leading) {
    size_t begin = line.find(beginning);
    isInList |= begin != line.npos;
    size_t from = begin == line.npos ? line.find_first_not_of("# ") : begin;
    if (isInList && from != line.npos)
      list += " " + line.substr(from);
  }
  return list;
}

/// Letters and digits alone: `maxSteps` and `max-steps` are `max_steps`.
std::string plain(std::string_view name) {
  std::string text;
  for (unsigned char c : name)
    if (std::isalnum(c))
      text += char(std::tolower(c));
  return text;
}

/// The rest of the sentence after `start` in a comment, on one line.
std::string sentenceOf(const ast::Comments& comments, std::string_view start) {
  std::string text;
  for (const std::string& line : comments.leading) {
    size_t from = line.find_first_not_of("# ");
    if (from != line.npos)
      text += (text.empty() ? "" : " ") + line.substr(from);
  }
  size_t begin = text.find(start);
  if (begin == text.npos)
    return {};
  begin += start.size();
  size_t end = text.find(". ", begin);
  if (end == text.npos && text.ends_with('.'))
    end = text.size() - 1;
  return text.substr(begin, end == text.npos ? end : end - begin);
}

} // namespace

std::vector<ListedName> namesListedIn(const ast::Comments& comments) {
  const std::string list = listOf(comments);
  std::vector<ListedName> names;
  size_t first = 0; // of the names that share a remark
  for (size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '(') {
      size_t end = at + 1;
      for (int depth = 1; end < list.size() && depth > 0; ++end)
        depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
      for (size_t i = first; i < names.size(); ++i)
        names[i].remark = list.substr(at + 1, end - at - 2);
      at = end - 1;
    }
    const size_t end = list[at] == '`' ? list.find('`', at + 1) : list.npos;
    if (end == list.npos)
      continue;
    if (at < conjunction.size() ||
        list.compare(at - conjunction.size(), conjunction.size(),
                     conjunction) != 0)
      first = names.size();
    names.push_back({list.substr(at + 1, end - at - 1), ""});
    at = end;
  }
  return names;
}

bool isSameName(std::string_view left, std::string_view right) {
  return left == right || (left.size() > 1 && plain(left) == plain(right));
}

std::optional<std::string> listedAs(const ast::Comments& comments,
                                    std::string_view name) {
  for (ListedName& each : namesListedIn(comments))
    if (isSameName(each.name, name))
      return std::move(each.remark);
  return std::nullopt;
}

/// The words in parentheses after a list of names,
/// `` `a`, `b` (why) ``, in the first list with a name that `isMeant` accepts.
template <class Test>
static std::string reasonIn(const std::string& list, const Test& isMeant) {
  for (size_t first = 0; first < list.size();) {
    const size_t open = list.find(" (", first);
    if (open == list.npos)
      return {};
    size_t end = open + 2;
    for (int depth = 1; end < list.size() && depth > 0; ++end)
      depth += list[end] == '(' ? 1 : list[end] == ')' ? -1 : 0;
    for (size_t at = list.find('`', first); at < open;
         at = list.find('`', at + 1)) {
      const size_t last = list.find('`', at + 1);
      if (isMeant(std::string_view(list).substr(at + 1, last - at - 1)))
        return list.substr(open + 2, end - open - 3);
      at = last;
    }
    first = end;
  }
  return {};
}

std::string whyAbsent(const ast::Comments& comments, std::string_view name) {
  std::string list = sentenceOf(comments, absentBeginning);
  if (list.empty())
    list = sentenceOf(comments, absentArgument);
  return reasonIn(list, [&](std::string_view each) { return each == name; });
}

/// Whether two values are equal, or are strings that differ at most in case,
/// `_` and `-`: `"ZeRO-3"` and `"zero3"`.
static bool isSameValue(std::string_view left, std::string_view right) {
  auto isText = [](std::string_view value) {
    return value.size() > 2 && value.front() == '"' && value.back() == '"';
  };
  return left == right ||
         (isText(left) && isText(right) && isSameName(left, right));
}

std::string whyNoValue(const ast::Comments& comments,
                       std::string_view written) {
  return reasonIn(
      sentenceOf(comments, absentValue),
      [&](std::string_view each) { return isSameValue(each, written); });
}

/// In the sentence after `start`, the `ours` of the first "`theirs` is `ours`"
/// whose `theirs` `isMeant` accepts.
template <class Test>
static std::optional<std::string> oursOf(const ast::Comments& comments,
                                         std::string_view start,
                                         const Test& isMeant) {
  constexpr std::string_view sign = "` is `";
  const std::string list = sentenceOf(comments, start);
  for (size_t at = list.find('`'); at != list.npos;
       at = list.find('`', at + 1)) {
    const size_t end = list.find(sign, at);
    if (end == list.npos)
      return std::nullopt;
    const size_t own = end + sign.size();
    const size_t close = list.find('`', own);
    if (isMeant(std::string_view(list).substr(at + 1, end - at - 1)))
      return list.substr(own, close - own);
    at = close;
  }
  return std::nullopt;
}

std::optional<std::string> valueListedAs(const ast::Comments& comments,
                                         std::string_view written) {
  if (auto own = oursOf(comments, valuesBeginning,
                        [&](std::string_view each) { return each == written; }))
    return own;
  return oursOf(comments, valuesBeginning, [&](std::string_view each) {
    return isSameValue(each, written);
  });
}

std::string whereSeveral(const ast::Comments& comments) {
  return sentenceOf(comments, severalBeginning);
}

std::optional<std::string> argumentListedAs(const ast::Comments& comments,
                                            std::string_view name) {
  return oursOf(comments, argumentsBeginning,
                [&](std::string_view each) { return each == name; });
}

std::vector<AbsentNames> absentNamesIn(const ast::Comments& comments) {
  std::vector<AbsentNames> found(1);
  for (std::string_view start : {absentBeginning, absentArgument}) {
    const std::string list = sentenceOf(comments, start);
    for (size_t at = list.find('`'); at != list.npos;
         at = list.find('`', at + 1)) {
      const size_t end = list.find('`', at + 1);
      std::string name = list.substr(at + 1, end - at - 1);
      const std::string reason = whyAbsent(comments, name);
      if (!reason.empty() && reason != found.back().reason)
        found.push_back({{}, reason});
      if (!reason.empty())
        found.back().names.push_back(std::move(name));
      const bool isLast = list.compare(end + 1, 2, " (") == 0;
      at = isLast ? list.find(')', end) : end;
    }
  }
  found.erase(found.begin());
  return found;
}

bool beginsList(std::string_view line) {
  constexpr std::string_view others[] = {beginning,          valuesBeginning,
                                         absentBeginning,    absentValue,
                                         argumentsBeginning, absentArgument};
  return std::ranges::any_of(others, [&](std::string_view start) {
    return line.starts_with(start.substr(0, start.size() - 1));
  });
}

std::string descriptionOf(const ast::Comments& comments) {
  std::string text;
  for (const std::string& line : comments.leading) {
    const size_t from = line.find_first_not_of("# ");
    if (from == line.npos || !line.starts_with("##"))
      continue;
    if (beginsList(std::string_view(line).substr(from)))
      break;
    text += (text.empty() ? "" : " ") + line.substr(from);
  }
  return text;
}

std::string exampleIn(const ast::Comments& comments) {
  constexpr std::string_view sign = "say `";
  for (const std::string& line : comments.leading)
    if (size_t at = line.find(sign); at != line.npos) {
      at += sign.size();
      return line.substr(at, line.find('`', at) - at);
    }
  return {};
}

const ast::Comments* commentsOf(const Schema& schema, std::string_view field) {
  for (const ast::Item& item : schema.body->items)
    if (auto* declared = std::get_if<ast::FieldDecl>(&item.node);
        declared && declared->name.text == field)
      return &item.comments;
  return nullptr;
}

std::string summaryOf(const ast::Comments& comments) {
  std::string text = descriptionOf(comments);
  size_t end = text.find(". ");
  if (end == text.npos && text.ends_with('.'))
    end = text.size() - 1;
  return text.substr(0, end);
}

std::string summaryOf(const Schema& schema, std::string_view field) {
  const ast::Comments* comments = commentsOf(schema, field);
  return comments ? summaryOf(*comments) : std::string();
}

} // namespace recipec::sema
