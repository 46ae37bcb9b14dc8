// See Restarts.h.

#include "runtime/launch/Restarts.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace reciperun::launch {
namespace {

constexpr std::chrono::seconds firstPause(1), longestPause(30);

/// Returns false when a stop signal arrives before the end of the pause.
bool pauseFor(std::chrono::seconds time) {
  sigset_t stops, before;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1})
    sigaddset(&stops, number);
  sigprocmask(SIG_BLOCK, &stops, &before);
  const timespec limit = {.tv_sec = time.count(), .tv_nsec = 0};
  const bool isAsked = sigtimedwait(&stops, nullptr, &limit) > 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !isAsked;
}

/// `ended with exit code 1`, `was ended by signal 9 (Killed)`.
std::string endOf(const LaunchResult& result) {
  const int signal = result.exitCode - 128;
  if (signal > 0 && signal <= SIGRTMAX)
    return "was ended by signal " + std::to_string(signal) + " (" +
           strsignal(signal) + ")";
  return "ended with exit code " + std::to_string(result.exitCode);
}

/// Tells the reason for a restart, the first being number 0, and pauses before
/// it. The next pause is twice as long. Returns false when a stop signal
/// arrives.
bool pauseBefore(const Restarts& restarts, int number,
                 const std::string& reason, std::chrono::seconds& pause) {
  restarts.warn(restarts.job + " " + reason + " and starts again in " +
                std::to_string(pause.count()) + " s, restart " +
                std::to_string(number + 1) + " of " +
                std::to_string(restarts.most));
  if (!pauseFor(pause))
    return false;
  pause = std::min(pause * 2, longestPause);
  return true;
}

/// Asks for the command of the next restart until there is one, with a pause
/// between. Returns false when no restart is left, or a stop signal arrives.
bool nextCommand(const Restarts& restarts, std::vector<std::string>& command,
                 int& number, std::chrono::seconds& pause) {
  while ((command = restarts.next()).empty())
    if (++number == restarts.most ||
        !pauseBefore(restarts, number, "waits for its hosts", pause))
      return false;
  return true;
}

} // namespace

std::vector<std::string>
ownCommand(const std::vector<std::string_view>& options) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0') && word != "--";) {
    const auto isOption = [&](std::string_view option) {
      return word == option || word.starts_with(std::string(option) + "=");
    };
    const auto found = std::ranges::find_if(options, isOption);
    if (found == options.end())
      words.push_back(word);
    else if (word == *found)
      std::getline(file, word, '\0'); // its value
  }
  if (!words.empty())
    words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

LaunchResult runWithRestarts(const std::vector<std::string>& command,
                             const Restarts& restarts, std::ostream& err,
                             bool passesHangup) {
  std::chrono::seconds pause = firstPause;
  std::vector<std::string> present = command;
  for (int number = 0;; ++number) {
    const LaunchResult result = run(present, err, passesHangup);
    if (result.error != 0 || result.wasAsked || result.exitCode == 0 ||
        number == restarts.most)
      return result;
    const Worth worth = restarts.judge(result);
    if (worth == Worth::none)
      return result;
    if (worth == Worth::afterProgress)
      pause = firstPause;
    if (!pauseBefore(restarts, number, endOf(result), pause))
      return result;
    if (restarts.next && !nextCommand(restarts, present, number, pause))
      return result;
  }
}

} // namespace reciperun::launch
