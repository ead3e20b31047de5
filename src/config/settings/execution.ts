import { choice, decimal, flag, integer, list, mapping, text, texts, type EnvironmentSource } from "../setting.ts"

/** The P-edition reads these variables; they count only when the file has no `terminal` section. */
function terminalVariable(name: string): { readonly environment: EnvironmentSource } {
  return { environment: { name: `TERMINAL_${name}`, strength: "section" } }
}

/** Where commands run, and which outside services the tools use. */
export const EXECUTION_SETTINGS = {
  "terminal.backend": choice(
    ["local", "docker", "ssh", "singularity", "modal", "daytona"],
    "local",
    "Where commands run.",
    terminalVariable("ENV"),
  ),
  "terminal.cwd": text(
    ".",
    "Working directory; `.`, `auto` and `cwd` mean where Hermes was started.",
    terminalVariable("CWD"),
  ),
  "terminal.timeout": integer(180, "Seconds a command may run.", { min: 1, ...terminalVariable("TIMEOUT") }),
  "terminal.lifetime_seconds": integer(300, "Seconds an idle remote environment is kept.", {
    min: 0,
    ...terminalVariable("LIFETIME_SECONDS"),
  }),
  "terminal.home_mode": choice(
    ["auto", "real", "profile"],
    "auto",
    "HOME of commands: your own, or the profile's.",
    terminalVariable("HOME_MODE"),
  ),
  "terminal.env_passthrough": texts(
    [],
    "Variables commands may see although they look secret.",
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
  "terminal.docker_volumes": texts([], "Volumes to mount.", terminalVariable("DOCKER_VOLUMES")),
  "terminal.docker_env": mapping("Variables set in the container.", terminalVariable("DOCKER_ENV")),
  "terminal.docker_forward_env": texts(
    [],
    "Variables passed on into the container.",
    terminalVariable("DOCKER_FORWARD_ENV"),
  ),
  "terminal.docker_extra_args": texts([], "More arguments for docker run.", terminalVariable("DOCKER_EXTRA_ARGS")),
  "terminal.docker_mount_cwd_to_workspace": flag(
    false,
    "Mount the working directory into the container.",
    terminalVariable("DOCKER_MOUNT_CWD_TO_WORKSPACE"),
  ),
  "terminal.docker_run_as_host_user": flag(
    false,
    "Run as you instead of root.",
    terminalVariable("DOCKER_RUN_AS_HOST_USER"),
  ),
  "terminal.docker_network": flag(true, "Give the container a network.", terminalVariable("DOCKER_NETWORK")),
  "terminal.docker_persist_across_processes": flag(
    true,
    "Use the same container again after a restart.",
    terminalVariable("DOCKER_PERSIST_ACROSS_PROCESSES"),
  ),
  "terminal.docker_orphan_reaper": flag(
    true,
    "Remove containers nobody uses.",
    terminalVariable("DOCKER_ORPHAN_REAPER"),
  ),
  "terminal.container_cpu": decimal(1, "Processors of a container.", { min: 0, ...terminalVariable("CONTAINER_CPU") }),
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
  "terminal.ssh_user": text("", "User on that host.", terminalVariable("SSH_USER")),
  "terminal.ssh_port": integer(22, "Port on that host.", { min: 1, max: 65_535, ...terminalVariable("SSH_PORT") }),
  "terminal.ssh_key": text("", "Private key file for that host.", terminalVariable("SSH_KEY")),
  "terminal.modal_mode": text("auto", "How the modal backend is reached.", {
    tag: "later",
    ...terminalVariable("MODAL_MODE"),
  }),
  "terminal.credential_files": list("Files a remote environment may see."),
  "terminal.sandbox": choice(
    ["auto", "off", "required"],
    "auto",
    "Shut local commands into a sandbox.",
    terminalVariable("SANDBOX"),
  ),
  "terminal.sandbox_network": flag(
    true,
    "Commands have a network; only the sandbox can take it away, so without one they are refused.",
    terminalVariable("SANDBOX_NETWORK"),
  ),
  "terminal.sandbox_write": texts([], "More places the sandbox may write to.", terminalVariable("SANDBOX_WRITE")),
  "web.backend": text("", "Service for search and pages; empty takes the first with a key."),
  "web.search_backend": text("", "Service for search alone."),
  "web.extract_backend": text("", "Service for pages alone."),
  "web.use_llm_processing": flag(true, "Condense long pages with a model."),
  "browser.inactivity_timeout": integer(120, "Seconds an unused browser stays open.", { min: 0 }),
  "browser.command_timeout": integer(30, "Seconds one browser action may take.", { min: 1 }),
  "browser.backend": text("auto", "Local browser, a cloud provider, or auto."),
  "browser.executable_path": text("", "Browser program; empty searches for one."),
  "browser.user_data_dir": text("", "Browser profile to use."),
  "browser.cdp_url": text("", "Address of a browser that already runs."),
  "browser.allow_private_urls": flag(false, "Cloud browsers may be sent to private addresses."),
  "browser.auto_local_for_private_urls": flag(true, "Open private addresses in a local browser."),
  "browser.dialog_policy": choice(
    ["must_respond", "auto_dismiss", "auto_accept"],
    "must_respond",
    "What happens to the page's own dialogs.",
  ),
  "browser.dialog_timeout_s": integer(300, "Seconds a dialog waits.", { min: 1 }),
  "browser.record_sessions": flag(false, "Record browser sessions."),
  "browser.camofox": mapping("Camofox browser.", { tag: "later" }),
  mcp_servers: mapping("MCP servers by name: command, args and env, or url and headers."),
  "lsp.enabled": flag(true, "Ask language servers for new errors after a file was written."),
  "lsp.wait_mode": choice(
    ["document", "full"],
    "document",
    "Wait for the errors of the changed file, or until the server has nothing left to do and for those of other open files too.",
  ),
  "lsp.wait_timeout": decimal(5, "Seconds a write may wait for language servers; twice that with `wait_mode: full`.", {
    min: 0,
    max: 120,
  }),
  "lsp.install_strategy": choice(
    ["auto", "manual", "off"],
    "auto",
    "`hermes lsp install` installs what a project needs, or only servers that are named, or nothing.",
  ),
  "lsp.servers": mapping(
    "Language servers by name: disabled, command, trusted, env, settings, initialization_options; for one of your own also extensions, " +
      "language and root_markers.",
  ),
  "network.force_ipv4": flag(false, "Never use IPv6."),
  quick_commands: mapping("Slash commands of your own: a program to run, or another name for a command."),
} as const
