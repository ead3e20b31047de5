import {
  MAX_SECONDS,
  choice,
  decimal,
  flag,
  integer,
  list,
  mapping,
  mixed,
  readBoolean,
  text,
  texts,
  type EnvironmentSource,
} from "../setting.ts"

/** The Python edition reads these variables; they apply only when the file has no `terminal` section. */
function terminalVariable(name: string): { readonly environment: EnvironmentSource } {
  return { environment: { name: `TERMINAL_${name}`, strength: "section" } }
}

/** Where commands run, and which external services the tools use. */
export const EXECUTION_SETTINGS = {
  "terminal.backend": choice(
    ["local", "docker", "ssh", "singularity", "modal", "daytona"],
    "local",
    "Where commands run.",
    { strict: true, ...terminalVariable("ENV") },
  ),
  "terminal.cwd": text(
    ".",
    "Working directory; `.`, `auto` and `cwd` mean the directory where Hermes was started.",
    terminalVariable("CWD"),
  ),
  "terminal.timeout": integer(180, "Default timeout of a command in seconds.", {
    min: 1,
    max: MAX_SECONDS,
    ...terminalVariable("TIMEOUT"),
  }),
  "terminal.lifetime_seconds": integer(300, "Seconds an idle remote environment is kept.", {
    min: 0,
    max: MAX_SECONDS,
    ...terminalVariable("LIFETIME_SECONDS"),
  }),
  "terminal.home_mode": choice(
    ["auto", "real", "profile"],
    "auto",
    "HOME of commands: your own, or the profile's; auto uses the profile's in a container.",
    terminalVariable("HOME_MODE"),
  ),
  "terminal.env_passthrough": texts(
    [],
    "Variables that are passed to commands although they look secret.",
    terminalVariable("ENV_PASSTHROUGH"),
  ),
  "terminal.shell_init_files": texts([], "Files to source before commands.", terminalVariable("SHELL_INIT_FILES")),
  "terminal.auto_source_bashrc": flag(
    true,
    "Source your shell's start-up file.",
    terminalVariable("AUTO_SOURCE_BASHRC"),
  ),
  "terminal.persistent_shell": flag(
    true,
    "Keep directory and variables between commands.",
    terminalVariable("PERSISTENT_SHELL"),
  ),
  "terminal.docker_image": text(
    "nikolaik/python-nodejs:python3.11-nodejs20",
    "Image of the docker backend.",
    terminalVariable("DOCKER_IMAGE"),
  ),
  "terminal.docker_volumes": texts([], "Docker volumes to mount.", terminalVariable("DOCKER_VOLUMES")),
  "terminal.docker_env": mapping("Variables set in the container.", terminalVariable("DOCKER_ENV")),
  "terminal.docker_forward_env": texts(
    [],
    "Variables that are forwarded into the container.",
    terminalVariable("DOCKER_FORWARD_ENV"),
  ),
  "terminal.docker_extra_args": texts(
    [],
    "Additional arguments for docker run.",
    terminalVariable("DOCKER_EXTRA_ARGS"),
  ),
  "terminal.docker_mount_cwd_to_workspace": flag(
    false,
    "Mount the working directory into the container.",
    terminalVariable("DOCKER_MOUNT_CWD_TO_WORKSPACE"),
  ),
  "terminal.docker_run_as_host_user": flag(
    false,
    "Run commands in the container as your user instead of root.",
    terminalVariable("DOCKER_RUN_AS_HOST_USER"),
  ),
  "terminal.docker_network": flag(true, "Enable the network in the container.", {
    strict: true,
    ...terminalVariable("DOCKER_NETWORK"),
  }),
  "terminal.docker_persist_across_processes": flag(
    true,
    "Reuse the container after a restart.",
    terminalVariable("DOCKER_PERSIST_ACROSS_PROCESSES"),
  ),
  "terminal.docker_orphan_reaper": flag(
    true,
    "Remove containers that are no longer in use.",
    terminalVariable("DOCKER_ORPHAN_REAPER"),
  ),
  "terminal.container_cpu": decimal(1, "Number of CPUs of a container.", {
    min: 0,
    ...terminalVariable("CONTAINER_CPU"),
  }),
  "terminal.container_memory": integer(5120, "Memory of a container in MB.", {
    min: 0,
    ...terminalVariable("CONTAINER_MEMORY"),
  }),
  "terminal.container_disk": integer(51_200, "Disk of a container in MB.", {
    min: 0,
    ...terminalVariable("CONTAINER_DISK"),
  }),
  "terminal.container_persistent": flag(true, "Keep a container's files.", terminalVariable("CONTAINER_PERSISTENT")),
  "terminal.singularity_image": text(
    "",
    "Image of the singularity backend; empty uses the docker image.",
    terminalVariable("SINGULARITY_IMAGE"),
  ),
  "terminal.modal_image": text(
    "",
    "Image of the modal backend; empty uses the docker image.",
    terminalVariable("MODAL_IMAGE"),
  ),
  "terminal.daytona_image": text(
    "",
    "Image of the daytona backend; empty uses the docker image.",
    terminalVariable("DAYTONA_IMAGE"),
  ),
  "terminal.ssh_host": text("", "Host of the ssh backend.", terminalVariable("SSH_HOST")),
  "terminal.ssh_user": text("", "User name on the ssh host.", terminalVariable("SSH_USER")),
  "terminal.ssh_port": integer(22, "Port of the ssh host.", { min: 1, max: 65_535, ...terminalVariable("SSH_PORT") }),
  "terminal.ssh_key": text("", "Private key file for the ssh host.", terminalVariable("SSH_KEY")),
  "terminal.modal_mode": text("auto", "Connection mode of the modal backend.", {
    reserved: true,
    ...terminalVariable("MODAL_MODE"),
  }),
  "terminal.credential_files": list("Credential files that a remote environment may access."),
  "terminal.sandbox": choice(
    ["auto", "off", "required"],
    "auto",
    "Run local commands in a sandbox: auto where the system supports it, required refuses commands without one.",
    { strict: true, ...terminalVariable("SANDBOX") },
  ),
  "terminal.sandbox_network": mixed<boolean | "list">(
    true,
    "Allow network access to commands: true, false, or list for the hosts of terminal.sandbox_hosts only. Only the sandbox can block it: with false or list, commands are refused where no sandbox is available. Has no effect with terminal.sandbox off.",
    (value) => (value === "list" ? value : readBoolean(value)),
    { strict: true, ...terminalVariable("SANDBOX_NETWORK") },
  ),
  "terminal.sandbox_hosts": texts(
    [],
    "The hosts that commands may reach with terminal.sandbox_network list: a name, *.name for everything below it, or an address, each with an optional port.",
    terminalVariable("SANDBOX_HOSTS"),
  ),
  "terminal.sandbox_sockets": texts(
    [],
    "Unix sockets that sandboxed commands may use. With any entry, the sandbox no longer refuses Unix sockets as such: it hides those that other programs have opened outside the workspace.",
    terminalVariable("SANDBOX_SOCKETS"),
  ),
  "terminal.sandbox_write": texts(
    [],
    "Additional paths that sandboxed commands may write to.",
    terminalVariable("SANDBOX_WRITE"),
  ),
  "web.backend": text("", "Service for web search and pages; empty uses the first one with a key.", { reserved: true }),
  "web.search_backend": text("", "Service for web search; overrides `web.backend`.", { reserved: true }),
  "web.extract_backend": text("", "Service for reading pages; overrides `web.backend`.", { reserved: true }),
  "web.use_llm_processing": flag(true, "Summarise long pages with a model.", { reserved: true }),
  "browser.inactivity_timeout": integer(120, "Seconds after which an unused browser is closed.", {
    min: 0,
    reserved: true,
  }),
  "browser.command_timeout": integer(30, "Timeout of one browser action in seconds.", { min: 1, reserved: true }),
  "browser.backend": text("auto", "Local browser, a cloud provider, or auto.", { reserved: true }),
  "browser.executable_path": text("", "Path of the browser; empty searches for one.", { reserved: true }),
  "browser.user_data_dir": text("", "Browser profile to use.", { reserved: true }),
  "browser.cdp_url": text("", "DevTools URL of a running browser.", { reserved: true }),
  "browser.allow_private_urls": flag(false, "Allow cloud browsers to open private addresses.", { reserved: true }),
  "browser.auto_local_for_private_urls": flag(true, "Open private addresses in a local browser.", { reserved: true }),
  "browser.dialog_policy": choice(
    ["must_respond", "auto_dismiss", "auto_accept"],
    "must_respond",
    "How JavaScript dialogs of a page are handled.",
    { reserved: true },
  ),
  "browser.dialog_timeout_s": integer(300, "Seconds until a dialog is dismissed.", { min: 1, reserved: true }),
  "browser.record_sessions": flag(false, "Record browser sessions.", { reserved: true }),
  "browser.camofox": mapping("Camofox browser.", { reserved: true }),
  mcp_servers: mapping("MCP servers by name: command, args and env, or url and headers."),
  "lsp.enabled": flag(true, "Report new errors of language servers after a file was written."),
  "lsp.wait_mode": choice(
    ["document", "full"],
    "document",
    "Wait for the errors of the changed file (document), or until the server is idle and has checked all open files (full).",
  ),
  "lsp.wait_timeout": decimal(
    5,
    "Maximum seconds a write waits for language servers; twice that with `wait_mode: full`.",
    {
      min: 0,
      max: 120,
    },
  ),
  "lsp.install_strategy": choice(
    ["auto", "manual", "off"],
    "auto",
    "`hermes lsp install` installs the servers that a project needs (auto), only named servers (manual), or none (off).",
  ),
  "lsp.servers": mapping(
    "Language servers by name: disabled, command, trusted, env, settings, initialization_options; for a custom server also extensions, " +
      "language and root_markers.",
  ),
  "network.force_ipv4": flag(false, "Never use IPv6.", { reserved: true }),
  quick_commands: mapping(
    "Your own slash commands by name: {type: exec, command} runs a command line, {type: alias, target} another slash command.",
  ),
} as const
