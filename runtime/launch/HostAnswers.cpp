// See HostAnswers.h.

#include "runtime/launch/HostAnswers.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <netdb.h>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace reciperun::launch {
namespace {

using Words = std::vector<std::string>;

/// A parameter of Open MPI: `--mca NAME VALUE` of the options, or the variable
/// of releases 4 and 5.
std::string mcaParameter(const Words& options, const std::string& name) {
  for (size_t i = 0; i + 2 < options.size(); ++i)
    if ((options[i] == "--mca" || options[i] == "-mca" ||
         options[i] == "--prtemca") &&
        options[i + 1] == name)
      return options[i + 2];
  for (const char* prefix : {"OMPI_MCA_", "PRTE_MCA_"})
    if (const char* value = std::getenv((prefix + name).c_str()))
      return value;
  return {};
}

Words wordsOf(const std::string& text) {
  std::istringstream stream(text);
  Words words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

bool isInPath(const std::string& program) {
  if (program.find('/') != program.npos)
    return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + program).c_str(), X_OK) == 0)
      return true;
  return false;
}

[[noreturn]] void runAgent(std::vector<char*> arguments) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    dup2(nothing, stream);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

/// A host that is asked.
struct Question {
  std::string host;
  pid_t agent = -1; // -1: it has ended
  bool isAnswered = false;
};

Question ask(const std::string& host, Words command) {
  command.insert(command.end(), {host, "true"});
  std::vector<char*> arguments;
  for (std::string& word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t agent = fork();
  if (agent == 0)
    runAgent(arguments);
  setpgid(agent, agent); // whichever of the two is first
  return {host, agent};
}

/// Takes note of the end of the agent, if it has ended.
void look(Question& question, int options) {
  int status = 0;
  if (question.agent <= 0 ||
      waitpid(question.agent, &status, options) != question.agent)
    return;
  question.agent = -1;
  question.isAnswered = WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Whether a socket of this machine can have the address.
bool isOwnAddress(const addrinfo& address) {
  const int file = socket(address.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0)
    return false;
  const bool isOwn = bind(file, address.ai_addr, address.ai_addrlen) == 0;
  close(file);
  return isOwn;
}

} // namespace

std::optional<Words> launchAgent(const Words& options) {
  std::string agents = mcaParameter(options, "plm_rsh_agent");
  if (agents.empty())
    agents = mcaParameter(options, "plm_ssh_agent"); // of release 5
  if (agents.empty())
    agents = "ssh : rsh"; // mpirun's default
  std::istringstream alternatives(agents);
  for (std::string each; std::getline(alternatives, each, ':');) {
    Words words = wordsOf(each);
    if (words.empty() || !isInPath(words.front()))
      continue;
    for (std::string& word : wordsOf(mcaParameter(options, "plm_rsh_args")))
      words.push_back(std::move(word));
    // A question for a password is no answer.
    if (std::filesystem::path(words.front()).filename() == "ssh")
      words.insert(words.begin() + 1, {"-x", "-o", "BatchMode=yes"});
    return words;
  }
  return std::nullopt;
}

bool isThisHost(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1); // `user@host`
  std::string own(256, '\0');
  if (gethostname(own.data(), own.size() - 1) == 0 && own.c_str() == name)
    return true;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0)
    return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (const addrinfo* each = found; each; each = each->ai_next)
    if (isOwnAddress(*each))
      return true;
  return false;
}

std::vector<std::string> silentHosts(const std::vector<std::string>& hosts,
                                     const Words& agent,
                                     std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds glance(10);
  std::vector<Question> questions;
  for (const std::string& host : hosts)
    questions.push_back(ask(host, agent));
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto isOpen = [](const Question& each) { return each.agent > 0; };
  while (std::ranges::any_of(questions, isOpen) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(glance);
    for (Question& each : questions)
      look(each, WNOHANG);
  }
  std::vector<std::string> silent;
  for (Question& each : questions) {
    if (isOpen(each)) {
      kill(-each.agent, SIGKILL);
      look(each, 0);
    }
    if (!each.isAnswered)
      silent.push_back(each.host);
  }
  return silent;
}

} // namespace reciperun::launch
