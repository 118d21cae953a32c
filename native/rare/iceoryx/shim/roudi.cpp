// RouDi, the daemon of iceoryx, without the signals of its own program: two C functions.
//
// At its end, the program would end every registered application by its PID, which may belong to
// another process after a crash. This daemon must not; the orchestrator ends processes. Everything
// else is as in the program.

#include <memory>

#include <iceoryx_posh/internal/roudi/roudi.hpp>
#include <iceoryx_posh/roudi/iceoryx_roudi_components.hpp>
#include <iceoryx_posh/roudi/roudi_config_toml_file_provider.hpp>

namespace {

struct Daemon {
  explicit Daemon(const iox::RouDiConfig_t &config)
      : components(config),
        roudi(components.rouDiMemoryManager, components.portManager,
              iox::roudi::RouDi::RoudiStartupParameters{iox::roudi::MonitoringMode::ON,
                                                        /* killProcessesInDestructor */ false}) {}

  iox::roudi::IceOryxRouDiComponents components;
  iox::roudi::RouDi roudi;
};

}  // namespace

extern "C" {

// Returns when applications can register; NULL if the file is invalid. No file (""): what iox-roudi
// does without one. An error inside iceoryx ends the process, with iceoryx's text on stderr.
void *rmwbench_roudi_start(const char *file) {
  iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kWarn,
                                                           iox::log::LogLevelOutput::kHideLogLevel);
  iox::config::CmdLineArgs_t arguments;
  arguments.configFilePath = iox::roudi::ConfigFilePathString_t(iox::cxx::TruncateToCapacity, file);
  iox::config::TomlRouDiConfigFileProvider provider(arguments);
  auto config = provider.parse();
  return config.has_error() ? nullptr : new Daemon(config.value());
}

// Ends RouDi and removes its segments, sockets and locks.
void rmwbench_roudi_stop(void *daemon) { delete static_cast<Daemon *>(daemon); }

}  // extern "C"
