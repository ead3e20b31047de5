import { existsSync, mkdirSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askClient } from "../remote/client-process.ts"
import { serversDirectory } from "./places.ts"

const INSTALL_MS = 600_000
const MAX_REASON_CHARS = 500

/**
 * Installs npm packages into the home, with the npm of the person. Scripts of packages are not run: no server of the table needs one,
 * and it is where a stolen package would begin.
 */
export async function installPackages(
  packages: readonly string[],
  options: {
    readonly home: string
    readonly environment: Readonly<Record<string, string>>
    readonly signal: AbortSignal
  },
): Promise<Result<undefined>> {
  const npm = (options.environment["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => join(directory, "npm"))
    .find((file) => existsSync(file))
  if (npm === undefined) return fail("npm is not on the PATH; install Node.js with npm")
  const directory = serversDirectory(options.home)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const manifest = join(directory, "package.json")
  // Without one npm would install into the nearest directory above that has one.
  if (!existsSync(manifest)) writeFileAtomic(manifest, `${JSON.stringify({ private: true }, undefined, 2)}\n`)
  const answer = await askClient(
    [
      npm,
      "install",
      "--prefix",
      directory,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      ...packages,
    ],
    { environment: options.environment, signal: options.signal, timeoutMs: INSTALL_MS },
  )
  if (answer.ended === "interrupted") return fail("it was interrupted")
  if (answer.ended === "timed-out") return fail("npm did not finish within 10 minutes")
  if (answer.code === 0) return ok(undefined)
  const said = answer.notStarted ?? answer.stderr.trim()
  return fail(`npm failed: ${said === "" ? `it ended with code ${answer.code}` : said.slice(0, MAX_REASON_CHARS)}`)
}
