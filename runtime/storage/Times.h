// The formats of times in answers, and pauses between attempts.

#ifndef RECIPERUN_STORAGE_TIMES_H
#define RECIPERUN_STORAGE_TIMES_H

#include <ctime>
#include <optional>
#include <string>

namespace reciperun::storage {

/// Parses `2013-05-24T00:00:00Z`, with or without fractions of a second.
std::optional<std::time_t> parseIsoTime(const std::string& text);
/// Parses `Fri, 24 May 2013 00:00:00 GMT`.
std::optional<std::time_t> parseHttpDate(const std::string& text);

/// Sleeps before attempt `number` (1 is the second one): a random time below
/// `firstSeconds` * 2^(number - 1), at most 20 s ("full jitter": Brooker,
/// "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
void backOff(int number, double firstSeconds);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_TIMES_H
