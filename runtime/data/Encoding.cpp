// See Encoding.h.

#include "runtime/data/Encoding.h"

#include "runtime/data/Conversion.h"

#include <filesystem>

namespace reciperun::data {
namespace {

bool isUtf16(std::string_view head) {
  return head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
}

} // namespace

std::string hexadecimal(char byte) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return std::string("0x") + digits[value >> 4] + digits[value & 15];
}

std::string conversionToUtf8(const std::string& path, std::string_view head) {
  namespace fs = std::filesystem;
  const fs::path original(path);
  fs::path stem = original;
  stem.replace_extension();
  const std::string ending = original.extension().string();
  std::string made = stem.string() + ".utf8" + ending;
  std::error_code code;
  for (int i = 2; fs::exists(made, code); ++i)
    made = stem.string() + ".utf8-" + std::to_string(i) + ending;
  const bool isWide = isUtf16(head);
  const std::string from = isWide ? "utf-16" : "latin1";
  return std::string("if its encoding is ") + (isWide ? "UTF-16" : "Latin-1") +
         ", convert it by `iconv -f " + from + " -t utf-8 " + shellWord(path) +
         " > " + shellWord(made) + "`, and name the new file";
}

} // namespace reciperun::data
