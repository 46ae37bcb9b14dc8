// See Compression.h.

#include "runtime/server/kserve/Compression.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

namespace reciperun::server {
namespace {

constexpr int windowBits = 15;
constexpr int asGzip = 16;    // added to the bits: write a gzip header
constexpr int anyHeader = 32; // added to the bits: read gzip's and zlib's
/// The server's thread compresses, so speed matters more than size.
constexpr int zlibLevel = Z_BEST_SPEED;
constexpr int memoryLevel = 8; // zlib's default
constexpr size_t pieceBytes = size_t(64) << 10;

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};
struct EndDeflate {
  void operator()(z_stream* stream) const { deflateEnd(stream); }
};

constexpr size_t mostZlibBytes = size_t(1) << 31; // in one call

/// Sets zlib's input. Returns false if there are too many bytes.
bool setInput(z_stream& stream, std::string_view bytes) {
  if (bytes.size() > mostZlibBytes)
    return false;
  stream.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // only read
  stream.avail_in = uInt(bytes.size());
  return true;
}

Status cannotDecompress(const std::string& why) {
  return Status::error("failed to decompress the request body: " + why,
                       StatusCode::invalidArgument);
}

struct WeightedCoding {
  std::string_view name;
  double weight = 1;
};

/// Reads `gzip;q=0.5`. The weight is 0 where it is no number.
WeightedCoding weightedCodingOf(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  text.remove_prefix(std::min(begin, text.size()));
  const size_t at = text.find(";q=");
  WeightedCoding made = {text.substr(0, at)};
  if (at == text.npos)
    return made;
  const std::string_view weight = text.substr(at + 3);
  const auto [end, error] = std::from_chars(
      weight.data(), weight.data() + weight.size(), made.weight);
  if (error != std::errc())
    made.weight = 0;
  return made;
}

struct CodingRow {
  std::string_view name;
  ContentCoding coding;
};
constexpr std::array<CodingRow, 3> codingRows = {
    {{"identity", ContentCoding::identity},
     {"deflate", ContentCoding::deflate},
     {"gzip", ContentCoding::gzip}}};

const CodingRow* findCoding(std::string_view name) {
  const auto* const found =
      std::ranges::find(codingRows, name, &CodingRow::name);
  return found == codingRows.end() ? nullptr : found;
}

} // namespace

const char* nameOf(ContentCoding coding) {
  return codingRows[size_t(coding)].name.data();
}

Expected<ContentCoding> contentCodingOf(std::string_view header) {
  if (header.empty())
    return ContentCoding::identity;
  const CodingRow* const row = findCoding(header);
  if (!row)
    return Status::error("Unsupported compression type",
                         StatusCode::unsupported);
  return row->coding;
}

ContentCoding acceptedCodingOf(std::string_view header) {
  ContentCoding best = ContentCoding::identity;
  double weight = 0;
  while (!header.empty()) {
    const std::string_view item = header.substr(0, header.find(','));
    header.remove_prefix(std::min(item.size() + 1, header.size()));
    const WeightedCoding each = weightedCodingOf(item);
    const CodingRow* const row = findCoding(each.name);
    if (!row || !(each.weight > weight))
      continue;
    best = row->coding;
    weight = each.weight;
  }
  return best;
}

Expected<std::string> decompress(std::string_view bytes, size_t mostBytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, windowBits | anyHeader) != Z_OK)
    return Status::error("failed to initialize state for data decompression");
  const std::unique_ptr<z_stream, EndInflate> owner(&stream);
  if (!setInput(stream, bytes))
    return cannotDecompress("it is too large");
  std::string made;
  std::array<char, pieceBytes> piece;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = uInt(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END)
      return cannotDecompress(stream.msg              ? stream.msg
                              : result == Z_BUF_ERROR ? "it ends too early"
                                                      : zError(result));
    made.append(piece.data(), piece.size() - stream.avail_out);
    if (made.size() > mostBytes)
      return Status::error(
          "Decompressed data size exceeds the maximum allowed value of " +
              std::to_string(mostBytes) +
              " bytes. Use --http-max-input-size to increase the limit.",
          StatusCode::invalidArgument);
  }
  return made;
}

Expected<std::string> compress(std::string_view bytes, ContentCoding coding) {
  z_stream stream = {};
  const int bits = windowBits + (coding == ContentCoding::gzip ? asGzip : 0);
  if (deflateInit2(&stream, zlibLevel, Z_DEFLATED, bits, memoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return Status::error("failed to initialize state for data compression");
  const std::unique_ptr<z_stream, EndDeflate> owner(&stream);
  if (!setInput(stream, bytes))
    return Status::error("the body is too large to be compressed");
  std::string made(deflateBound(&stream, uLong(bytes.size())), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = uInt(made.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
    return Status::error("failed to compress the body");
  made.resize(stream.total_out);
  return made;
}

} // namespace reciperun::server
