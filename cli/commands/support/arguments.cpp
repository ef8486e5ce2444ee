#include "commands/support/arguments.hpp"

#include <algorithm>

namespace verlc {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& legal,
                       const std::string& help) {
  const std::vector<std::string> near = nearest_names(word, legal, 2);
  return (near.empty() ? "legal are " + joined(legal) : "did you mean " + joined(near) + "?") + "; see " +
         help;
}

std::vector<std::string> command_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> flag_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

}  // namespace

ErrorText explain_arguments(CLI::App& app, const std::vector<std::string>& args, const std::string& message) {
  CLI::App* current = &app;
  for (const std::string& word : args) {
    if (word == "--") break;
    const std::string help = full_name(*current) + " --help";
    if (word.size() > 1 && word[0] == '-') {
      const std::string flag = word.substr(0, word.find('='));
      if (current->get_option_no_throw(flag) == nullptr && !std::isdigit(static_cast<unsigned char>(word[1])))
        return {"unknown flag", full_name(*current), flag, suggestion(flag, flag_names(*current), help)};
      continue;
    }
    const std::vector<std::string> commands = command_names(*current);
    if (commands.empty()) continue;
    if (std::find(commands.begin(), commands.end(), word) == commands.end())
      return {"unknown command", full_name(*current), word, suggestion(word, commands, help)};
    current = current->get_subcommand(word);
  }
  const std::vector<std::string> commands = command_names(*current);
  if (!commands.empty())
    return {"a command is missing", full_name(*current), "",
            "one of " + joined(commands) + "; see " + full_name(*current) + " --help"};
  return {message, full_name(*current), "", "see " + full_name(*current) + " --help"};
}

}  // namespace verlc
