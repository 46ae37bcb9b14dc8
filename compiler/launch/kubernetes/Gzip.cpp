// See Gzip.h.

#include "compiler/launch/kubernetes/Gzip.h"

#include <cassert>
#include <cstdint>
#include <zlib.h>

namespace recipec::launch {

std::string gzipped(const std::string& text) {
  constexpr int gzipFormat = 16; // added to the window's bits
  constexpr int memoryLevel = 8;
  z_stream stream{};
  const int isReady =
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED,
                   MAX_WBITS + gzipFormat, memoryLevel, Z_DEFAULT_STRATEGY);
  assert(isReady == Z_OK && "zlib refuses its own constants");
  static_cast<void>(isReady);
  std::string bytes(deflateBound(&stream, uLong(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = uInt(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string base64Of(const std::string& bytes) {
  constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) {
      return at < bytes.size() ? uint32_t(uint8_t(bytes[at])) : 0u;
    };
    const uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += digits[group >> 18 & 63];
    text += digits[group >> 12 & 63];
    text += i + 1 < bytes.size() ? digits[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? digits[group & 63] : '=';
  }
  return text;
}

} // namespace recipec::launch
