import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../base/atomic-file.ts"
import { systemClock } from "../base/clock.ts"
import { parseJson } from "../base/json.ts"
import type { LogSink } from "../base/logger.ts"
import { createFileLogger } from "../base/file-logger.ts"
import { createRedactor } from "../base/redact.ts"
import { DEFAULT_IDENTITY } from "../agent/prompt/build-prompt.ts"
import { loadDotenv } from "../config/dotenv.ts"
import type { Environment } from "../config/environment.ts"
import { brokenFileWarning } from "../config/config-file.ts"
import { ensureHome } from "../config/home.ts"
import type { Home } from "../config/home.ts"
import { addressPasswords, isSecretKey, secretValuesIn } from "../config/secrets.ts"
import { loadConfig } from "../config/load.ts"
import type { LoadOptions } from "../config/load.ts"
import { createApp } from "./app.ts"
import type { App } from "./app.ts"

export interface StartOptions {
  readonly home: Home
  readonly environment: Environment
  readonly invocation?: LoadOptions["invocation"]
  readonly version: string
  /** Where log lines go besides the files of the home. */
  readonly extraSinks?: readonly LogSink[]
}

export interface StartedApp {
  readonly app: App
  readonly environment: Environment
  /** What a person should be told about keys and settings; never fatal. */
  readonly warnings: readonly string[]
}

/** From a home to a running app: keys, settings, logs. Throws `HomeError` when the home cannot be used at all. */
export async function startApp(options: StartOptions): Promise<StartedApp> {
  const { home } = options
  const fresh = !existsSync(home.file("sessions"))
  ensureHome(home, options.environment)
  if (fresh) seedSoul(home)
  const dotenv = loadDotenv(home, options.environment)
  const { environment } = dotenv
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
  const app = createApp({
    config,
    environment,
    home,
    clock: systemClock,
    log: log.child("agent"),
    redactor,
    version: options.version,
  })
  return { app, environment, warnings: [...dotenv.warnings, ...configWarnings(config, home)] }
}

/** A new home gets the default identity as a file the person can change; one that was removed later stays removed. */
function seedSoul(home: Home): void {
  if (!existsSync(home.file("SOUL.md"))) writeFileAtomic(home.file("SOUL.md"), `${DEFAULT_IDENTITY}\n`)
}

function configWarnings(config: App["config"], home: Home): readonly string[] {
  if (config.broken !== undefined) return [brokenFileWarning(home, config.broken)]
  return config.problems.map(({ path, message, fix }) => [path, message, fix].filter((part) => part !== "").join(": "))
}

const MIN_SECRET_CHARS = 8

/**
 * Every value whose name says that it is a secret, in the environment, in config.yaml and among the logins, and every password in an
 * address of the person's own: it is masked wherever it turns up.
 */
function secretValues({
  environment,
  config,
  home,
}: Pick<App, "config" | "home"> & { readonly environment: Environment }): readonly string[] {
  const fromEnvironment = environment.names().flatMap((name) => {
    const value = environment.get(name) ?? ""
    if (isSecretKey(name)) return [value]
    return value.includes("://") ? addressPasswords(value) : []
  })
  return [...fromEnvironment, ...secretValuesIn(config.user()), ...secretValuesIn(logins(home))].filter(
    (value) => value.length >= MIN_SECRET_CHARS,
  )
}

function logins(home: Home): readonly unknown[] {
  return [...new Set([home.path, home.root])].map((folder) => {
    try {
      return parseJson(readFileSync(join(folder, "auth.json"), "utf8"))
    } catch {
      // Nobody has logged in, or the file cannot be read; whoever needs a login says so.
      return undefined
    }
  })
}
