import { readFileSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { createGuardedFetch } from "../../llm/http/guarded-fetch.ts"
import type { GuardedFetch } from "../../llm/http/guarded-fetch.ts"
import type { StdioTarget } from "../server-settings.ts"
import { runPackage } from "./package-argument.ts"
import type { RunPackage } from "./package-argument.ts"
import { suspiciousCommand } from "./suspicious-command.ts"

interface RefusalOptions {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** Default: one that connects only to public addresses. */
  readonly openFetch?: () => GuardedFetch
}

const OSV_URL = "https://api.osv.dev/v1/query"
const LOOKUP_MS = 5000
const CACHE_MS = 24 * 3600 * 1000
const MAX_BYTES = 5_000_000
const MAX_ENTRIES = 200

/** Why a program must not be started; undefined when it may. A lookup that fails refuses nothing. */
export async function startRefusal(target: StdioTarget, options: RefusalOptions): Promise<string | undefined> {
  const suspicion = suspiciousCommand(target)
  if (suspicion !== undefined) return suspicion
  const run = runPackage(target.command, target.args)
  if (run === undefined) return undefined
  const advisories = await malwareAdvisories(run, options)
  if (advisories.length === 0) return undefined
  return `the package ${run.name} is known malware (${advisories.slice(0, 3).join(", ")})`
}

/** The malware advisories of the OSV database for a package, remembered for a day. */
async function malwareAdvisories(run: RunPackage, options: RefusalOptions): Promise<readonly string[]> {
  const file = options.home.file("cache", "mcp", "osv.json")
  const key = `${run.ecosystem}:${run.name}@${run.version ?? ""}`
  const cache = readCache(file)
  const known = cache[key]
  const now = options.clock.now()
  if (known !== undefined && now - known.checkedAt < CACHE_MS) return known.advisories
  const advisories = await lookUp(run, options)
  if (advisories === undefined) return []
  const kept = Object.entries({ ...cache, [key]: { checkedAt: now, advisories } })
    .toSorted(([, a], [, b]) => b.checkedAt - a.checkedAt)
    .slice(0, MAX_ENTRIES)
  try {
    makeDirectories(options.home.file("cache", "mcp"))
    writeFileAtomic(file, JSON.stringify(Object.fromEntries(kept)))
  } catch (error) {
    options.log.debug(`the result of the malware lookup could not be stored: ${errorMessage(error)}`)
  }
  return advisories
}

async function lookUp(
  { ecosystem, name, version }: RunPackage,
  options: RefusalOptions,
): Promise<readonly string[] | undefined> {
  const { fetch, close } = (options.openFetch ?? (() => publicFetch(options)))()
  try {
    const response = await fetch(OSV_URL, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ package: { name, ecosystem }, ...(version === undefined ? {} : { version }) }),
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(LOOKUP_MS)]),
    })
    if (response.status !== 200) return undefined
    const body = parseJson(await response.text())
    const found = isRecord(body) && Array.isArray(body["vulns"]) ? body["vulns"] : []
    return found.flatMap((entry) => {
      const id = isRecord(entry) ? entry["id"] : undefined
      return typeof id === "string" && id.startsWith("MAL-") ? [id] : []
    })
  } catch (error) {
    options.log.debug(`the malware lookup for ${name} failed: ${errorMessage(error)}`)
    return undefined
  } finally {
    close()
  }
}

function publicFetch({ environment }: RefusalOptions): GuardedFetch {
  return createGuardedFetch({
    environment,
    allowsPrivate: () => false,
    timeouts: { connectMs: LOOKUP_MS, idleMs: LOOKUP_MS, totalMs: LOOKUP_MS },
    maxBytes: MAX_BYTES,
  })
}

interface Checked {
  readonly checkedAt: number
  readonly advisories: readonly string[]
}

function readCache(file: string): Readonly<Record<string, Checked>> {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch {
    // Nothing was looked up yet.
    return {}
  }
  const value = parseJson(text)
  if (!isRecord(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, entry]): [string, Checked][] => {
      if (!isRecord(entry) || typeof entry["checkedAt"] !== "number" || !Array.isArray(entry["advisories"])) return []
      const advisories = entry["advisories"].filter((id) => typeof id === "string")
      return [[key, { checkedAt: entry["checkedAt"], advisories }]]
    }),
  )
}
