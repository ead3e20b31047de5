import { readFileSync } from "node:fs"
import { join } from "node:path"

import { parseJson } from "../base/json.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { addressPasswords, isSecretKey, secretValuesIn } from "../config/secrets.ts"

const MIN_SECRET_CHARS = 8

/**
 * The values to redact wherever they appear: every value in the environment, config.yaml and auth.json whose name marks it as a
 * secret, and every password in a URL.
 */
export function secretValues({
  environment,
  config,
  home,
}: {
  readonly environment: Environment
  readonly config: Config
  readonly home: Home
}): readonly string[] {
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
      // There is no login, or the file cannot be read; the code that needs a login reports that.
      return undefined
    }
  })
}
