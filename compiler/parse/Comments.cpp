// Assigns comments to items: see Comments.h.

#include "compiler/parse/Comments.h"

namespace recipec::parse {

std::string CommentCursor::take() {
  const Comment& comment = list.comments[next++];
  std::string_view result =
      text().substr(comment.begin, comment.end - comment.begin);
  while (result.ends_with(' ') || result.ends_with('\t'))
    result.remove_suffix(1);
  return std::string(result);
}

bool CommentCursor::hasBlankLineBefore(uint32_t offset) const {
  int newlines = 0;
  for (size_t i = offset; i > 0; --i) {
    char c = text()[i - 1];
    if (c == '\n')
      ++newlines;
    else if (c != ' ' && c != '\t' && c != '\r')
      return newlines >= 2;
  }
  return false;
}

ast::Comments CommentCursor::before(uint32_t offset) {
  ast::Comments result;
  uint32_t first = offset;
  while (next < list.comments.size() && list.comments[next].begin < offset) {
    uint32_t begin = list.comments[next].begin;
    first = std::min(first, begin);
    if (!result.leading.empty() && hasBlankLineBefore(begin))
      result.leading.emplace_back();
    result.leading.push_back(take());
  }
  if (!result.leading.empty() && hasBlankLineBefore(offset))
    result.leading.emplace_back();
  result.blankLineBefore = hasBlankLineBefore(first);
  return result;
}

void CommentCursor::finish(ast::Comments& comments, uint32_t end) {
  while (next < list.comments.size() && list.comments[next].begin < end) {
    comments.inner = true;
    ++next;
  }
  if (next == list.comments.size())
    return;
  std::string_view between =
      text().substr(end, list.comments[next].begin - end);
  if (between.find_first_not_of(" \t,") == std::string_view::npos)
    comments.trailing = take();
}

ast::Comments CommentCursor::header(uint32_t offset) {
  ast::Comments result;
  size_t last = next;
  // The header ends at the first blank line after a comment.
  while (last < list.comments.size() && list.comments[last].begin < offset) {
    ++last;
    uint32_t following = last < list.comments.size()
                             ? std::min(offset, list.comments[last].begin)
                             : offset;
    if (!hasBlankLineBefore(following))
      continue;
    while (next < last)
      result.leading.push_back(take());
    return result;
  }
  return result;
}

} // namespace recipec::parse
