/**
 * Filters the environment of this process for the model's commands and scripts: variables that programs need, and nothing that could hold a
 * secret. It is an allow-list because the names of future secrets are unknown. `passthrough` adds names that the user configured, but
 * never one of Hermes' own credentials.
 */
export function commandEnvironment(
  inherited: Readonly<Record<string, string>>,
  options: {
    readonly passthrough: readonly string[]
    readonly set: Readonly<Record<string, string>>
    /** Scripts that call tools get less, because they reach everything else through tools. */
    readonly audience?: "scripts"
  },
): Record<string, string> {
  const declared = new Set(options.passthrough)
  const { names, prefixes, secret } = options.audience === undefined ? COMMANDS : SCRIPTS
  const visible = Object.entries(inherited).filter(([name]) => {
    if (isBlockedVariable(name)) return false
    const isOrdinary = names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
    return declared.has(name) || (isOrdinary && !secret.test(name))
  })
  return { ...Object.fromEntries(visible), PATH: completePath(inherited["PATH"] ?? ""), ...options.set }
}

/** The allow-list as names and shell patterns, for scripts that filter the variables set by shell start-up files. */
export function visibleVariables(passthrough: readonly string[]): readonly string[] {
  const declared = passthrough.filter((name) => /^\w+$/.test(name) && !isBlockedVariable(name))
  return [...ORDINARY, ...ORDINARY_PREFIXES.map((prefix) => `${prefix}*`), ...declared]
}

export function isBlockedVariable(name: string): boolean {
  return BLOCKED.has(name.toUpperCase()) || name.startsWith("_HERMES_FORCE_")
}

const ORDINARY = new Set(
  (
    "HOME USER LOGNAME SHELL PWD LANG LANGUAGE TZ TERM COLORTERM TMPDIR TMP TEMP HOSTNAME DISPLAY WAYLAND_DISPLAY " +
    "SSH_AUTH_SOCK GPG_TTY EDITOR VISUAL PAGER NO_COLOR CI KUBECONFIG DOCKER_HOST " +
    "JAVA_HOME GOPATH GOROOT GOFLAGS CARGO_HOME RUSTUP_HOME RUSTFLAGS VIRTUAL_ENV PYTHONPATH CONDA_PREFIX PYENV_ROOT NVM_DIR " +
    "NODE_ENV NODE_PATH PNPM_HOME BUN_INSTALL DENO_DIR ANDROID_HOME " +
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy " +
    "SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO"
  ).split(" "),
)

const ORDINARY_PREFIXES = ["LC_", "XDG_"]

const SECRET_NAME = /API_?KEY|ACCESS_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATE_?KEY|_BASE_URL$/i

interface AllowList {
  readonly names: ReadonlySet<string>
  readonly prefixes: readonly string[]
  /** What looks like a secret is left out even where the name is on the list. */
  readonly secret: RegExp
}

const COMMANDS: AllowList = { names: ORDINARY, prefixes: ORDINARY_PREFIXES, secret: SECRET_NAME }

const SCRIPTS: AllowList = {
  names: new Set(["HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV", "TZ"]),
  prefixes:
    "PATH HOME USER LANG LC_ TERM TMPDIR TMP TEMP SHELL LOGNAME XDG_ PYTHONPATH VIRTUAL_ENV CONDA NODE_PATH".split(" "),
  secret: /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH|DSN|WEBHOOK/iu,
}

const BLOCKED = new Set(
  (
    "OPENAI_API_KEY OPENAI_BASE_URL OPENAI_API_BASE OPENAI_ORG_ID OPENAI_ORGANIZATION OPENROUTER_API_KEY OPENROUTER_BASE_URL " +
    "ANTHROPIC_API_KEY ANTHROPIC_BASE_URL ANTHROPIC_TOKEN CLAUDE_CODE_OAUTH_TOKEN LLM_MODEL GOOGLE_API_KEY GEMINI_API_KEY " +
    "DEEPSEEK_API_KEY MISTRAL_API_KEY GROQ_API_KEY TOGETHER_API_KEY PERPLEXITY_API_KEY COHERE_API_KEY FIREWORKS_API_KEY " +
    "XAI_API_KEY HELICONE_API_KEY PARALLEL_API_KEY FIRECRAWL_API_KEY FIRECRAWL_API_URL AWS_BEARER_TOKEN_BEDROCK HASS_TOKEN " +
    "HASS_URL EMAIL_ADDRESS EMAIL_PASSWORD EMAIL_IMAP_HOST EMAIL_SMTP_HOST EMAIL_HOME_ADDRESS GH_TOKEN GITHUB_TOKEN " +
    "GITHUB_APP_ID GITHUB_APP_PRIVATE_KEY_PATH GITHUB_APP_INSTALLATION_ID MODAL_TOKEN_ID MODAL_TOKEN_SECRET DAYTONA_API_KEY " +
    "GATEWAY_ALLOWED_USERS HERMES_DASHBOARD_SESSION_TOKEN SUDO_PASSWORD"
  ).split(" "),
)

const STANDARD_DIRECTORIES = [
  "/opt/homebrew/bin",
  "/opt/homebrew/sbin",
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
]

/** Removes empty and duplicate entries and appends the standard directories that are missing. */
export function completePath(path: string): string {
  const entries = path.split(":").filter((entry) => entry !== "")
  return [...new Set([...entries, ...STANDARD_DIRECTORIES])].join(":")
}
