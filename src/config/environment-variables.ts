import { settingEntries } from "./settings.ts"

/** One row of the reference page. */
export interface EnvironmentVariable {
  readonly name: string
  readonly effect: string
  /** Reserved: this release does not read it yet. */
  readonly later?: true
}

const SHELL_VARIABLES: readonly EnvironmentVariable[] = [
  { name: "HERMES_HOME", effect: "Directory with settings, sessions and all other data of Hermes." },
  { name: "HERMES_HOME_MODE", effect: "Permission bits of the home's directories, in octal; default 0700." },
  { name: "HERMES_UID", effect: "Owner of directories that Hermes creates, for containers." },
  { name: "HERMES_GID", effect: "Group of directories that Hermes creates, for containers." },
  { name: "HERMES_SKIP_CHMOD", effect: "Do not change permission bits." },
  { name: "HERMES_CONTAINER", effect: "1 or 0: whether this is a container, when Hermes cannot detect it." },
  {
    name: "HERMES_MANAGED",
    effect: "Name of the package manager that owns the configuration; Hermes then does not change it.",
  },
  { name: "HERMES_REAL_HOME", effect: "The account's home directory; set for every program a tool starts." },
  { name: "HERMES_S6_SUPERVISED_CHILD", effect: "Set by the container's supervisor: ignore the active profile." },
  { name: "HERMES_MODEL", effect: "Model for scheduled jobs.", later: true },
  { name: "HERMES_YOLO_MODE", effect: "Same as --yolo." },
  { name: "HERMES_IGNORE_USER_CONFIG", effect: "Same as --ignore-user-config." },
  { name: "HERMES_IGNORE_RULES", effect: "Same as --ignore-rules." },
  { name: "HERMES_SAFE_MODE", effect: "Same as --safe-mode." },
  { name: "HERMES_SESSION_SOURCE", effect: "Source written into new sessions." },
  { name: "HERMES_SESSION_ID", effect: "Set for every program a tool starts: the session it belongs to." },
  { name: "HERMES_API_TIMEOUT", effect: "Timeout of a model request in seconds; default 1800." },
  {
    name: "HERMES_API_CALL_STALE_TIMEOUT",
    effect: "Seconds a model request may wait for the first byte; default 90.",
  },
  { name: "HERMES_STREAM_READ_TIMEOUT", effect: "Maximum seconds between two reads of a stream; default 120." },
  { name: "HERMES_STREAM_STALE_TIMEOUT", effect: "Seconds a stream may deliver no content; default 180." },
  { name: "HERMES_STREAM_RETRIES", effect: "Number of retries of a broken stream; default 2." },
  { name: "HERMES_SIGTERM_GRACE", effect: "Seconds to finish after SIGTERM; default 1.5." },
  { name: "HERMES_TUI", effect: "1 is the same as --tui, 0 the same as --cli." },
  { name: "HERMES_TUI_THEME", effect: "light, dark or the background as #rrggbb, when Hermes guesses wrong." },
  { name: "HERMES_TUI_RESUME", effect: "1 opens the last session at start; an id opens that one.", later: true },
  { name: "HERMES_TUI_NO_CONFIRM", effect: "Do not ask before leaving or clearing.", later: true },
  { name: "HERMES_EPHEMERAL_SYSTEM_PROMPT", effect: "Text added to the system prompt and never stored." },
  { name: "HERMES_BUNDLED_SKILLS", effect: "Directory of the bundled skills." },
  { name: "HERMES_OPTIONAL_SKILLS", effect: "Directory of the optional skills.", later: true },
  { name: "HERMES_BUNDLED_PLUGINS", effect: "Directory of the bundled plugins." },
  {
    name: "HERMES_ENABLE_PROJECT_PLUGINS",
    effect: "Also load plugins from .hermes/plugins of the working directory.",
  },
  { name: "HERMES_PLUGINS_DEBUG", effect: "Log how plugins are loaded." },
  { name: "HERMES_DOCKER_BINARY", effect: "Absolute path of the docker or podman client to use." },
  { name: "HERMES_SSH_BINARY", effect: "Absolute path of the ssh client to use." },
  { name: "HERMES_SINGULARITY_BINARY", effect: "Absolute path of apptainer or singularity." },
  { name: "HERMES_DAYTONA_BINARY", effect: "Absolute path of the Daytona command line." },
  { name: "HERMES_MODAL_PYTHON", effect: "Absolute path of a python3 that has the package modal." },
  { name: "HERMES_WRITE_SAFE_ROOT", effect: "File tools write only inside this directory." },
  { name: "HERMES_DUMP_REQUESTS", effect: "Write every model request to a file." },
  { name: "HERMES_DEBUG_INTERRUPT", effect: "Log what happens on an interrupt.", later: true },
  { name: "HERMES_OAUTH_TRACE", effect: "Log the steps of a login, without secrets.", later: true },
  { name: "HERMES_OAUTH_FILE", effect: "Credential file of another program to read.", later: true },
  { name: "HERMES_KANBAN_TASK", effect: "Set for workers: the task." },
  { name: "HERMES_KANBAN_BOARD", effect: "Set for workers: the board.", later: true },
  { name: "HERMES_KANBAN_DB", effect: "Set for workers: the board's database.", later: true },
  { name: "HERMES_KANBAN_HOME", effect: "Set for workers: directory of the boards.", later: true },
  { name: "HERMES_DEMO_SCRIPT", effect: "Script for the demo model." },
  { name: "API_SERVER_KEY", effect: "Key that clients of `hermes mcp serve --http` send as a bearer token." },
  { name: "AUXILIARY_<TASK>_PROVIDER", effect: "Provider of one auxiliary task." },
  { name: "AUXILIARY_<TASK>_MODEL", effect: "Model of one auxiliary task." },
  { name: "AUXILIARY_<TASK>_BASE_URL", effect: "Endpoint of one auxiliary task." },
  { name: "AUXILIARY_<TASK>_API_KEY", effect: "API key of one auxiliary task." },
  { name: "EDITOR", effect: "Editor for config edit; for long input when VISUAL is not set." },
  { name: "VISUAL", effect: "Editor for long input; for config edit when EDITOR is not set." },
  { name: "NO_COLOR", effect: "Disable colours." },
  { name: "TERM", effect: "Terminal type; dumb means plain text." },
  { name: "COLORTERM", effect: "Whether the terminal shows all colours." },
  { name: "COLORFGBG", effect: "Colours of the terminal, to choose a light or dark look." },
  {
    name: "HTTPS_PROXY",
    effect: "Proxy (http, socks5, socks5h, socks4, socks4a); takes precedence over HTTP_PROXY and ALL_PROXY.",
  },
  { name: "HTTP_PROXY", effect: "Proxy when HTTPS_PROXY is not set." },
  { name: "ALL_PROXY", effect: "Proxy when neither of the others is set." },
  { name: "NO_PROXY", effect: "Hosts to which Hermes connects without a proxy." },
  { name: "SSL_CERT_FILE", effect: "PEM file with additional trusted certificate authorities." },
  { name: "REQUESTS_CA_BUNDLE", effect: "The same, when SSL_CERT_FILE is not set." },
]

/** Every variable that Hermes reads: those above, and those that correspond to a setting. */
export const ENVIRONMENT_VARIABLES: readonly EnvironmentVariable[] = [...SHELL_VARIABLES, ...settingVariables()]

function settingVariables(): EnvironmentVariable[] {
  return settingEntries().flatMap(([key, { environment }]): EnvironmentVariable[] => {
    if (environment === undefined) return []
    const rules = {
      wins: `Sets \`${key}\`; overrides config.yaml.`,
      fills: `Sets \`${key}\` when config.yaml does not.`,
      section: `Sets \`${key}\` when config.yaml has no \`${key.split(".")[0]}\` section.`,
    }
    return [{ name: environment.name, effect: rules[environment.strength] }]
  })
}
