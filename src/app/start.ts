import { existsSync } from "node:fs"

import { writeFileAtomic } from "../base/atomic-file.ts"
import { systemClock } from "../base/clock.ts"
import type { LogSink } from "../base/logger.ts"
import { createFileLogger } from "../base/file-logger.ts"
import { createRedactor } from "../base/redact.ts"
import { DEFAULT_IDENTITY } from "../agent/prompt/build-prompt.ts"
import { readAuth } from "../config/auth-file.ts"
import { loadDotenv, reloadDotenv } from "../config/dotenv.ts"
import type { LoadedDotenv } from "../config/dotenv.ts"
import { replaceableEnvironment } from "../config/environment.ts"
import type { Environment, ReplaceableEnvironment } from "../config/environment.ts"
import { brokenFileWarning } from "../config/config-file.ts"
import type { ConfigProblem } from "../config/config-problem.ts"
import { ensureHome } from "../config/home.ts"
import type { Home } from "../config/home.ts"
import { loadConfig } from "../config/load-config.ts"
import type { LoadOptions } from "../config/load-config.ts"
import { hasLogins } from "../config/stored-logins.ts"
import { createApp } from "./app.ts"
import { secretValues } from "./secret-values.ts"
import type { App, EnvironmentReload } from "./app.ts"
import { mayHavePlugins } from "../plugins/may-have-plugins.ts"
import type { PluginService, PluginServiceOptions } from "./services/plugin-service.ts"
import type { FacetFactory } from "./session/facet-context.ts"

export interface StartAppOptions {
  readonly home: Home
  readonly environment: Environment
  readonly invocation?: LoadOptions["invocation"]
  readonly version: string
  /** Where log lines go besides the files of the home. */
  readonly extraSinks?: readonly LogSink[]
  /** Further capabilities of each session. */
  readonly facets?: readonly FacetFactory[]
  /** The commands of the surface, which plugins cannot replace. Called only when there are plugins. */
  readonly ownCommands?: PluginServiceOptions["ownCommands"]
}

export interface StartedApp {
  readonly app: App
  readonly environment: Environment
  /** For the user, about keys and settings. */
  readonly warnings: readonly string[]
  /** The part of `warnings` that scripts report too: settings that restrict the agent less than they say. */
  readonly safetyWarnings: readonly string[]
  /** Files with settings or keys that cannot be used, each as a message. What they configure is unknown. */
  readonly unusableFiles: readonly string[]
}

/** From a home to a running app: keys, settings, logs. Throws `HomeError` when the home cannot be used at all. */
export async function startApp(options: StartAppOptions): Promise<StartedApp> {
  const { home } = options
  const fresh = !existsSync(home.file("sessions"))
  ensureHome(home, options.environment)
  if (fresh) seedSoul(home)
  const dotenv = loadDotenv(home, options.environment)
  const live = replaceableEnvironment(dotenv.environment)
  const { environment } = live
  const config = await loadConfig({
    home,
    environment,
    ...(options.invocation === undefined ? {} : { invocation: options.invocation }),
  })
  const redactor = createRedactor({
    enabled: config.get("security.redact_secrets") && environment.get("HERMES_REDACT_SECRETS")?.trim() !== "0",
    secrets: secretValues({ environment, config, home }),
  })
  const log = createFileLogger({
    directory: home.file("logs"),
    redact: (line) => redactor.redact(line),
    level: config.get("logging.level"),
    maxBytes: config.get("logging.max_size_mb") * 1024 * 1024,
    backups: config.get("logging.backup_count"),
    sinks: options.extraSinks ?? [],
  })
  const plugins = mayHavePlugins(config, environment)
    ? await openPlugins({
        home,
        environment,
        config,
        clock: systemClock,
        log: log.child("plugins"),
        version: options.version,
        ...(options.ownCommands === undefined ? {} : { ownCommands: options.ownCommands }),
      })
    : undefined
  const app = createApp({
    config: plugins?.config ?? config,
    environment,
    home,
    clock: systemClock,
    log: log.child("agent"),
    redactor,
    version: options.version,
    reloadEnvironment: reloaderOf({
      home,
      live,
      names: dotenv.names,
      secretsChanged: () => redactor.addSecrets(secretValues({ environment, config, home })),
    }),
    ...(plugins === undefined ? {} : { plugins: plugins.service }),
    ...(options.facets === undefined ? {} : { facets: options.facets }),
  })
  const unusable = unusableFiles({ dotenv, config, home })
  const warnings = [...new Set([...unusable, ...dotenv.warnings, ...configWarnings(config, home)])]
  for (const warning of warnings) log.warning(warning)
  const safetyWarnings = config.problems.filter(({ restrictsLess }) => restrictsLess === true).map(problemText)
  return { app, environment, warnings, safetyWarnings, unusableFiles: unusable }
}

/** Reads `.env` again each time it is called. New secrets are masked before they can be used. */
function reloaderOf({
  home,
  live,
  names,
  secretsChanged,
}: {
  readonly home: Home
  readonly live: ReplaceableEnvironment
  readonly names: readonly string[]
  readonly secretsChanged: () => void
}): () => EnvironmentReload {
  let known = names
  return () => {
    const reloaded = reloadDotenv(home, live.current(), known)
    known = reloaded.names
    live.replace(reloaded.environment)
    secretsChanged()
    return { changed: reloaded.changed, warnings: reloaded.warnings }
  }
}

/** The plugins, and the settings with the model providers that they bring. */
async function openPlugins(
  options: PluginServiceOptions,
): Promise<{ readonly service: PluginService; readonly config: App["config"] }> {
  const [{ openPluginService }, { withModelProviders }] = await Promise.all([
    import("./services/plugin-service.ts"),
    import("./services/plugin-models.ts"),
  ])
  const service = await openPluginService(options)
  const providers = service.loaded.all().flatMap(({ modelProviders }) => modelProviders)
  return { service, config: withModelProviders(options.config, providers) }
}

function unusableFiles({
  dotenv,
  config,
  home,
}: Pick<App, "config" | "home"> & { readonly dotenv: LoadedDotenv }): readonly string[] {
  return [
    ...(config.broken === undefined ? [] : [brokenFileWarning(home, config.broken)]),
    ...(dotenv.unreadable === undefined ? [] : [dotenv.unreadable]),
    ...(hasLogins(home) ? readAuth(home).warnings : []),
  ]
}

/** A new home gets the default identity as a file that the user can change. If it is deleted later, it stays deleted. */
function seedSoul(home: Home): void {
  if (!existsSync(home.file("SOUL.md"))) writeFileAtomic(home.file("SOUL.md"), `${DEFAULT_IDENTITY}\n`)
}

function configWarnings(config: App["config"], home: Home): readonly string[] {
  if (config.broken !== undefined) return [brokenFileWarning(home, config.broken)]
  return config.problems.map(problemText)
}

function problemText({ message, fix }: ConfigProblem): string {
  return `${message}; ${fix}`
}
