// UTF-8 by LLVM's ConvertUTF.

#include "compiler/base/Utf8.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <cassert>

namespace recipec {

static const llvm::UTF8* bytesOf(const char* text) {
  return reinterpret_cast<const llvm::UTF8*>(text);
}

int64_t countCodePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), beginsCodePoint);
}

size_t offsetOfCodePoint(std::string_view text, int64_t index) {
  size_t offset = 0;
  for (; offset < text.size(); ++offset)
    if (beginsCodePoint(text[offset]) && index-- == 0)
      break;
  return offset;
}

size_t codePointLength(std::string_view text) {
  if (text.empty())
    return 0;
  const llvm::UTF8* begin = bytesOf(text.data());
  return llvm::getUTF8SequenceSize(begin, begin + text.size());
}

uint32_t firstCodePoint(std::string_view text) {
  const llvm::UTF8* begin = bytesOf(text.data());
  llvm::UTF32 value = 0;
  [[maybe_unused]] llvm::ConversionResult result = llvm::convertUTF8Sequence(
      &begin, begin + text.size(), &value, llvm::strictConversion);
  assert(result == llvm::conversionOK && "the text is UTF-8");
  return value;
}

bool appendCodePoint(uint32_t value, std::string& text) {
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char* end = bytes;
  if (!llvm::ConvertCodePointToUTF8(value, end))
    return false;
  text.append(bytes, end);
  return true;
}

} // namespace recipec
