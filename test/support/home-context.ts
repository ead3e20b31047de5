import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import type { HomeContext } from "../../src/admin/home-context.ts"
import { systemClock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { environmentFrom } from "../../src/config/environment.ts"
import { resolveHome } from "../../src/config/home.ts"

export interface TestHomeContext extends HomeContext, Disposable {
  /** The user's home directory, which contains the Hermes home. */
  readonly directory: string
}

/** Creates a Hermes home for tests of `admin`, with files by relative path. Disposing deletes it. */
export function createTestHomeContext(
  files: Readonly<Record<string, string>> = {},
  variables: Readonly<Record<string, string>> = {},
): TestHomeContext {
  const directory = mkdtempSync(join(tmpdir(), "hermes-admin-"))
  const path = join(directory, ".hermes")
  mkdirSync(path, { mode: 0o700 })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), text)
  }
  // Detecting a container would change the file modes.
  const environment = environmentFrom({
    HOME: directory,
    HERMES_HOME: path,
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HERMES_CONTAINER: "0",
    ...variables,
  })
  return {
    directory,
    home: resolveHome(environment),
    environment,
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}
